// Uses the client of @hey-api/openapi-ts: creates contacts, reads an error, lists by pages; prints what came back.
import { createContact, getContact, listContacts, type ContactRequest } from "./made";
import { client } from "./made/client.gen";

declare const process: { argv: string[] };

async function main(url: string, key: string): Promise<void> {
  client.setConfig({ baseUrl: url, auth: key });
  const ids: number[] = [];
  for (const name of ["ann", "ben", "eve"]) {
    const body: ContactRequest = { email: `${name}@example.com` };
    const { data, error } = await createContact({ body });
    if (error) throw new Error(error.detail);
    ids.push(data?.id ?? 0);
  }
  const { error: refused } = await createContact({ body: { email: "ann@example.com" } });
  const { error: missing } = await getContact({ path: { id: 4711 } });
  const pages: (string | undefined)[][] = [];
  let cursor: string | undefined;
  do {
    const { data } = await listContacts({ query: { limit: 2, cursor } });
    if (!data || !("data" in data)) throw new Error("this is no page of contacts");
    pages.push(data.data.map((each) => each.email));
    cursor = data.next_cursor ?? undefined;
  } while (cursor);
  const known: number | undefined = refused?.existing_id;
  console.log(JSON.stringify({ pages, refused: [refused?.code, known === ids[0]], missing: [missing?.code, missing?.status] }));
}

main(process.argv[2], process.argv[3]);
