/** The first of the rows that an import refused, with their reasons. */
import { send } from '../api';
import { useRead } from '../data';
import { Skeleton } from '../ui/basic';
import { count } from '../words';

const SHOWN = 20;
/** Bytes to read of a file that may have hundreds of megabytes. */
const READ = 65_536;

interface Row {
  number: string;
  reason: string;
  cells: string;
}

async function read(path: string, signal: AbortSignal): Promise<Row[]> {
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
  return parse(isWhole ? text : wholeLines(text))
    .slice(1, SHOWN + 1)
    .map((cells) => ({ number: cells.at(-2) ?? '', reason: cells.at(-1) ?? '', cells: cells.slice(0, -2).filter(Boolean).join(' · ') }));
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

export function BadRows({ path }: { path: string }) {
  const { data: value, error: problem } = useRead(path, (signal) => read(path, signal));
  if (problem) return <p class="faint">{problem.message}</p>;
  if (!value) return <Skeleton lines={4} wide={90} />;
  return (
    <section class="bad-rows" aria-labelledby="bad-rows">
      <h2 id="bad-rows">{value.length < SHOWN ? 'Refused rows' : `The first ${count(value.length)} refused rows`}</h2>
      <p class="faint">The file has them all, with the columns of yours. Correct it and drop it here again; the two last columns are left out.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Rows and reasons">
        <table class="table">
          <thead>
            <tr>
              <th scope="col" class="number">Row</th>
              <th scope="col">Reason</th>
              <th scope="col">Cells</th>
            </tr>
          </thead>
          <tbody>
            {value.map((each, n) => (
              <tr key={n}>
                <td class="number">{each.number}</td>
                <td dir="auto">{each.reason}</td>
                <td dir="auto" class="cells">{each.cells}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
