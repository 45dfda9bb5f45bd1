import { get } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import type { Page } from '../types';
import { apiQuery, type View } from './view';

const PAGE = 200;

/** Yield all records of a view, page by page, with these members only. */
export async function* pagesOf<R extends AnyRecord>(kind: Kind<R>, view: View, fields: string): AsyncGenerator<R[]> {
  let cursor: string | null = null;
  do {
    const page: Page<R> = await get<Page<R>>(kind.api, [...apiQuery(view, PAGE, cursor), ['fields', fields]]);
    yield page.data;
    cursor = page.next_cursor;
  } while (cursor);
}
