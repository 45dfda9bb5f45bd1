/** The texts of records that people may change, as the API describes them: the build reads them from `openapi.json`. */
declare const API_TEXTS: Readonly<Record<'contact' | 'company', readonly string[]>>;

/** All but these and the owner, who is chosen, in the order of the API. */
export function textsBut(one: 'contact' | 'company', listed: readonly string[]): string[] {
  return API_TEXTS[one].filter((name) => name !== 'owner_id' && !listed.includes(name));
}
