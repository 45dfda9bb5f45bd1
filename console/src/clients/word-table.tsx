/** A setting that is a table: words and what they stand for, with rows that are added and removed. */
import { useId, useState } from 'preact/hooks';
import { Button } from '../ui/basic';

type Pairs = readonly (readonly [string, string])[];
type Table = Record<string, string | null>;

interface Props {
  text: string;
  help: string;
  /** What the two columns are called. */
  of: readonly [string, string];
  value: Table;
  onChange: (value: Table) => void;
  /** Values to choose from, each with its text; without them any text. */
  choices?: readonly (readonly [string, string])[];
  /** Values that are suggested. */
  known?: readonly string[];
  /** What an empty value means; without it a row without a value is left out. */
  none?: string;
}

export function WordTable({ text, help, of, value, onChange, choices, known, none }: Props) {
  const id = useId();
  // Rows that are not whole yet stay here, as does their order.
  const [rows, setRows] = useState<Pairs>(() => Object.entries(value).map(([word, means]) => [word, means ?? '']));
  function put(next: Pairs) {
    setRows(next);
    const whole = next.map(([word, means]) => [word.trim(), means.trim()] as const).filter(([word, means]) => word && (means || none !== undefined));
    onChange(Object.fromEntries(whole.map(([word, means]) => [word, means || null])));
  }
  const set = (n: number, row: readonly [string, string]) => put(rows.map((each, at) => (at === n ? row : each)));
  return (
    <fieldset class="word-table" aria-describedby={`${id}-help`}>
      <legend>{text}</legend>
      <p class="faint" id={`${id}-help`}>
        {help}
      </p>
      {rows.map(([word, means], n) => (
        <div key={n} class="pair">
          <input type="text" spellcheck={false} aria-label={`${of[0]}, row ${n + 1}`} placeholder={of[0]} value={word} onInput={(event) => set(n, [event.currentTarget.value, means])} />
          {choices ? (
            <select aria-label={`${of[1]}, row ${n + 1}`} value={means} onChange={(event) => set(n, [word, event.currentTarget.value])}>
              <option value="">{of[1]}</option>
              {choices.map(([name, said]) => (
                <option key={name} value={name}>
                  {said}
                </option>
              ))}
            </select>
          ) : (
            <input type="text" list={known ? `${id}-known` : undefined} aria-label={`${of[1]}, row ${n + 1}`} placeholder={none ?? of[1]} value={means} onInput={(event) => set(n, [word, event.currentTarget.value])} />
          )}
          <Button kind="quiet" icon="close" label={`Remove row ${n + 1} of ${text.toLowerCase()}`} onClick={() => put(rows.filter((_, at) => at !== n))} />
        </div>
      ))}
      {known && (
        <datalist id={`${id}-known`}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <Button icon="plus" aria-label={`Add a row to ${text.toLowerCase()}`} onClick={() => setRows([...rows, ['', '']])}>
        Add a row
      </Button>
    </fieldset>
  );
}
