/** How the file is read: its sheet, header row, encoding and delimiter, as detected or as chosen. */
import { useState } from 'preact/hooks';
import type { Preview, Reading } from './types';

const DELIMITERS: readonly (readonly [string, string])[] = [[',', 'Comma'], [';', 'Semicolon'], ['\t', 'Tab'], ['|', 'Bar']];
const ENCODINGS: readonly (readonly [string, string])[] = [
  ['utf-8', 'UTF-8'], ['utf-16', 'UTF-16'], ['cp1252', 'Windows-1252 (Western Europe)'], ['iso8859-15', 'ISO 8859-15 (Western Europe)'],
  ['cp1250', 'Windows-1250 (Central Europe)'], ['cp1251', 'Windows-1251 (Cyrillic)'], ['mac-roman', 'Mac Roman'], ['cp850', 'DOS 850'], ['shift_jis', 'Shift JIS'], ['gb18030', 'GB 18030'],
];

interface Props {
  preview: Preview;
  reading: Reading;
  busy: boolean;
  read: (how: Reading) => unknown;
}

export function HowRead({ preview, reading, busy, read }: Props) {
  const { format, encoding, delimiter, sheet, sheets, header_row } = preview;
  const [row, setRow] = useState(String(header_row));
  if (format !== 'csv' && format !== 'xlsx') return null;
  const again = (changed: Partial<Reading>) => read({ ...reading, ...changed });
  const setHeader = () => /^[1-9]\d{0,6}$/.test(row) && Number(row) !== header_row && again({ header_row: Number(row) });
  return (
    <fieldset class="reading" aria-busy={busy}>
      <legend class="hidden">How the file is read</legend>
      {format === 'csv' && <Select label="Encoding" value={encoding.replace('-sig', '')} options={ENCODINGS} choose={(value) => again({ encoding: value })} />}
      {format === 'csv' && <Select label="Delimiter" value={delimiter} options={DELIMITERS} choose={(value) => again({ delimiter: value })} />}
      {format === 'xlsx' && <Select label="Sheet" value={sheet} options={sheets.map((each) => [each, each])} choose={(value) => again({ sheet: value, header_row: 0 })} />}
      <label>
        Header row
        <input
          type="text"
          inputMode="numeric"
          value={row}
          onInput={(event) => setRow(event.currentTarget.value)}
          onChange={setHeader}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            setHeader();
          }}
        />
      </label>
    </fieldset>
  );
}

function Select({ label, value, options, choose }: { label: string; value: string; options: readonly (readonly [string, string])[]; choose: (value: string) => void }) {
  const known = options.some(([each]) => each === value) ? options : [[value, value] as const, ...options];
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {known.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
