/** What a preview asks before an import, each with its default, and what it found in the first rows. */
import type { ComponentChildren } from 'preact';
import { count, plural } from '../words';
import type { Many } from './targets';
import type { Choice, Mapping, Preview } from './types';
import { LISTS, listName } from './words';

interface Props {
  many: Many;
  preview: Preview;
  choice: Choice;
  change: (changed: Partial<Choice>) => void;
}

export function Questions({ many, preview, choice, change }: Props) {
  const optOuts = preview.opt_outs.filter((each) => each.rows);
  const { dates, statuses, status_columns: columns } = preview;
  if (!dates.length && !statuses.length && !columns.length && !optOuts.length) return null;
  return (
    <section class="questions" aria-label="Questions about the file">
      {dates.length > 0 && <DayOrder preview={preview} choice={choice} change={change} />}
      {columns.length > 0 && <StatusColumn many={many} preview={preview} choice={choice} change={change} />}
      {statuses.length > 0 && (
        <Question title="Statuses with several spellings">
          <Tick checked={choice.join_statuses} set={(join_statuses) => change({ join_statuses })}>
            Join them
          </Tick>
          <ul>
            {statuses.map((each) => (
              <li key={each.status} dir="auto">
                {amounts(each.spellings)} → <b>{each.status}</b>
              </li>
            ))}
          </ul>
        </Question>
      )}
      {optOuts.length > 0 && (
        <Question title="People who must not be contacted">
          {optOuts.map(({ column, rows, values }) => (
            <Tick
              key={column}
              checked={!choice.refused.includes(column)}
              set={(taken) => change({ refused: taken ? choice.refused.filter((each) => each !== column) : [...choice.refused, column] })}
            >
              Block {plural(rows, 'person', 'people')} by <b dir="auto">{column}</b>: <span dir="auto">{Object.keys(values).join(', ')}</span>
            </Tick>
          ))}
        </Question>
      )}
    </section>
  );
}

function DayOrder({ preview, choice, change }: Omit<Props, 'many'>) {
  const { dates } = preview;
  const examples = dates.flatMap((each) => each.examples).slice(0, 2);
  const sum = (name: 'day_first' | 'month_first' | 'ambiguous') => dates.reduce((total, each) => total + each[name], 0);
  const shown = ([['day_first', 'the day first'], ['month_first', 'the month first']] as const).filter(([name]) => sum(name)).map(([name, text]) => `${plural(sum(name), 'date')} with ${text}`);
  const pick = (day_order: Mapping['day_order']) => change({ day_order });
  return (
    <Question title={`Dates such as ${examples.join(' and ')}`}>
      <Radio name="day-order" checked={choice.day_order === 'day_first'} set={() => pick('day_first')}>
        Day first: {inWords(examples[0], true)}
      </Radio>
      <Radio name="day-order" checked={choice.day_order === 'month_first'} set={() => pick('month_first')}>
        Month first: {inWords(examples[0], false)}
      </Radio>
      <p class="faint">
        In <span dir="auto">{dates.map((each) => each.column).join(', ')}</span>: {[...shown, sum('ambiguous') && `${count(sum('ambiguous'))} that may be either`].filter(Boolean).join(', ')}.
        {!choice.day_order && ' Dates that may be either are left out until you choose.'}
      </p>
    </Question>
  );
}

/** A date such as 11/12/2026 in one of the two orders; as it is where it has no such day. */
function inWords(text = '', isDayFirst: boolean): string {
  const [, one = '', two = '', year = ''] = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{2,4})/.exec(text.trim()) ?? [];
  const [day, month] = isDayFirst ? [Number(one), Number(two)] : [Number(two), Number(one)];
  if (!day || !month || month > 12) return `no date of ${text}`;
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric' }).format(new Date(Number(year) + (year.length === 2 ? 2000 : 0), month - 1, day));
}

function StatusColumn({ many, preview, choice, change }: Props) {
  const status = many === 'contacts' ? 'contact_status' : 'company_status';
  const pick = (name: string) => {
    const others = Object.entries(choice.columns).map(([column, target]) => [column, target === status ? `cf.${column}` : target]);
    change({ columns: { ...Object.fromEntries(others), ...(name && { [name]: status }) } });
  };
  const isNone = !preview.status_columns.some((each) => choice.columns[each.column] === status);
  return (
    <Question title={`Status of the ${many}`}>
      {preview.status_columns.map(({ column, values }) => (
        <Radio key={column} name="status-column" checked={choice.columns[column] === status} set={() => pick(column)}>
          <b dir="auto">{column}</b>: <span dir="auto">{amounts(values)}</span>
        </Radio>
      ))}
      <Radio name="status-column" checked={isNone} set={() => pick('')}>
        None of these columns
      </Radio>
    </Question>
  );
}

function amounts(values: Record<string, number>): string {
  return Object.entries(values).map(([value, rows]) => `${value} ${count(rows)}`).join(', ');
}

function Question({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="fieldset">
      <legend dir="auto">{title}</legend>
      {children}
    </fieldset>
  );
}

interface ChoiceProps {
  checked: boolean;
  children: ComponentChildren;
}

function Tick({ checked, set, children }: ChoiceProps & { set: (checked: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => set(event.currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}

function Radio({ name, checked, set, children }: ChoiceProps & { name: string; set: () => void }) {
  return (
    <label class="check">
      <input type="radio" name={name} checked={checked} onChange={set} />
      <span>{children}</span>
    </label>
  );
}

/** What the rows of the preview have: lists of refused rows, repeated ones and cells that are left out. */
export function Checked({ preview: { checked }, record, busy }: { preview: Preview; record: 'contact' | 'company'; busy: boolean }) {
  if (!checked) return null;
  const found = LISTS.filter(({ name }) => name in checked && checked[name as 'invalid']);
  return (
    <section class="checked" aria-label="Rows of the file" aria-busy={busy}>
      <p role="status" class="faint">
        {busy ? 'Checking the rows…' : `${plural(checked.rows, 'row')} checked${found.length ? ':' : ', none is refused or left out.'}`}
      </p>
      {found.map(({ name }) => {
        const lines = checked.lines.filter((each) => each.outcome === name);
        const total = checked[name as 'invalid'];
        return (
          <details key={name}>
            <summary>
              <b>{count(total)}</b> {listName(name, record, total)}
            </summary>
            <ul>
              {lines.map((each) => (
                <li key={`${each.row} ${each.column}`} dir="auto">
                  Row {each.row}: {each.column && <b>{each.column}</b>} {each.value && `“${each.value}”`} {each.reason}
                </li>
              ))}
              {total > lines.length && <li class="faint">and {count(total - lines.length)} more; a test run lists all.</li>}
            </ul>
          </details>
        );
      })}
    </section>
  );
}
