// Uses the types of openapi-typescript with openapi-fetch: creates contacts, reads an error, lists by pages; prints what came back.
import createClient from "openapi-fetch";
import type { components, paths } from "./made";

declare const process: { argv: string[] };

async function main(url: string, key: string): Promise<void> {
  const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });
  const ids: number[] = [];
  for (const name of ["ann", "ben", "eve"]) {
    const body: components["schemas"]["ContactRequest"] = { email: `${name}@example.com` };
    const { data, error } = await client.POST("/public/v2/contacts", { body });
    if (error) throw new Error(error.detail);
    ids.push(data.id ?? 0);
  }
  const { error: refused } = await client.POST("/public/v2/contacts", { body: { email: "ann@example.com" } });
  const { error: missing } = await client.GET("/public/v2/contacts/{id}", { params: { path: { id: 4711 } } });
  const pages: (string | undefined)[][] = [];
  let cursor: string | undefined;
  do {
    const { data } = await client.GET("/public/v2/contacts", { params: { query: { limit: 2, cursor } } });
    if (!data || !("data" in data)) throw new Error("this is no page of contacts");
    pages.push(data.data.map((each) => each.email));
    cursor = data.next_cursor ?? undefined;
  } while (cursor);
  const known: number | undefined = refused?.existing_id;
  console.log(JSON.stringify({ pages, refused: [refused?.code, known === ids[0]], missing: [missing?.code, missing?.status] }));
}

main(process.argv[2], process.argv[3]);
