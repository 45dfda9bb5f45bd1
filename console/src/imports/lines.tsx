/** Lists of the report of an import: the rows of one count, or the cells that were left out. */
import type { ComponentChildren } from 'preact';
import { send } from '../api';
import { useRead } from '../data';
import { href } from '../route';
import { Skeleton } from '../ui/basic';
import { count } from '../words';
import type { Many } from './targets';
import { LISTS } from './words';

const SHOWN = 20;
/** Bytes to read of a file that may have hundreds of megabytes. */
const READ = 65_536;

/** Read the first lines of a CSV file without its header. */
async function read(path: string, signal: AbortSignal): Promise<string[][]> {
  const response = await send('GET', path, { signal });
  const reader = response.body?.getReader();
  if (!reader) return [];
  const decoder = new TextDecoder();
  let text = '';
  let isWhole = false;
  while (text.length < READ) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) {
      isWhole = true;
      break;
    }
  }
  void reader.cancel();
  return parse(isWhole ? text : wholeLines(text)).slice(1, SHOWN + 1);
}

/** The text up to the end of its last whole line. */
function wholeLines(text: string): string {
  let isQuoted = false;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') isQuoted = !isQuoted;
    else if (text[at] === '\n' && !isQuoted) end = at + 1;
  }
  return text.slice(0, end);
}

/** Lines of a CSV text. */
export function parse(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r?\n|$)/g)) {
    line.push(quoted === undefined ? (plain ?? '') : quoted.replace(/""/g, '"'));
    if (end === ',') continue;
    if (line.length > 1 || line[0]) lines.push(line);
    line = [];
  }
  return lines;
}

interface ListProps {
  title: string;
  path: string;
  total: number;
  about: string;
  columns: readonly string[];
  cells: (line: string[]) => ComponentChildren[];
}

/** The first lines of a list; the first cell of each is the number of its row. */
function Lines({ title, path, total, about, columns, cells }: ListProps) {
  const { data: lines, error: problem } = useRead(path, (signal) => read(path, signal));
  if (problem) return <p class="faint">{problem.message}</p>;
  if (!lines) return <Skeleton lines={4} wide={90} />;
  return (
    <section class="bad-rows" aria-labelledby="lines">
      <h2 id="lines">{total > lines.length ? `${title}, the first ${count(lines.length)} of ${count(total)}` : title}</h2>
      <p class="faint">{about}</p>
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title}: rows`}>
        <table class="table">
          <thead>
            <tr>
              <th scope="col" class="number">Row</th>
              {columns.map((each) => (
                <th key={each} scope="col">
                  {each}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map(cells).map(([row, ...others], n) => (
              <tr key={n}>
                <td class="number">{row}</td>
                {others.map((each, index) => (
                  <td key={columns[index]} dir="auto" class={columns[index] === 'Cells' ? 'cells' : ''}>
                    {each}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The first of the rows that an import refused, with their reasons. */
export function BadRows({ path, total }: { path: string; total: number }) {
  return (
    <Lines
      title="Refused rows"
      path={path}
      total={total}
      about="The file has them all, with the columns of yours. Correct it and drop it here again; the two last columns are left out."
      columns={['Reason', 'Cells']}
      cells={(line) => [line.at(-2), line.at(-1), line.slice(0, -2).filter(Boolean).join(' · ')]}
    />
  );
}

/** The first lines of a report that one count has. */
export function ReportLines({ path, many, list, total }: { path: string; many: Many; list: string; total: number }) {
  const title = LISTS.find((each) => each.name === list)?.title ?? list;
  const ofCells = list === 'cells_left_out';
  const record = (id = '') => (id ? <a href={href(`/${many}/${id}`)}>{id}</a> : null);
  return (
    <Lines
      title={title}
      path={`${path}/report?outcome=${list}`}
      total={total}
      about="The report has them all."
      columns={ofCells ? ['Column', 'Cell', 'Reason'] : ['Record', 'Reason']}
      cells={([row, , id, column, value, reason]) => (ofCells ? [row, column, value, reason] : [row, record(id), reason])}
    />
  );
}
