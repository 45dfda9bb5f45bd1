/** Adding a filter: a field, what must hold, a value. */
import { useState } from 'preact/hooks';
import { Button } from '../ui/basic';
import { Popover } from '../ui/overlay';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import { notedHere } from '../record/notes';
import { usePeople } from '../replies/conversations';
import { FieldSearch } from './field-search';
import { current, OPERATORS, show, TIME_OPERATORS } from './view';

const TEXT_OPERATORS = ['contains', 'eq', 'ne', 'starts_with', 'in', 'is_set'];
const OWNER = 'owner_id';
/** Opens the search of all custom fields. */
const CUSTOM = ' custom';
const CUSTOM_OPERATORS = ['contains', 'eq', 'ne', 'gte', 'lte', 'is_set'];

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
}

export function NewFilter<R extends AnyRecord>({ kind }: Props<R>) {
  return (
    <Popover text="Filter" icon="plus">
      {(close) => <Form kind={kind} close={close} />}
    </Popover>
  );
}

function Form<R extends AnyRecord>({ kind, close }: Props<R> & { close: () => void }) {
  const [custom, setCustom] = useState(false);
  const [field, setField] = useState(kind.times[0] ?? '');
  const [operator, setOperator] = useState('gte');
  const [value, setValue] = useState('');
  const [unit, setUnit] = useState('d');
  const people = usePeople(notedHere(kind.many, 0).of);
  const isTime = kind.times.includes(field);
  const operators = isTime ? Object.keys(TIME_OPERATORS) : field === OWNER ? ['eq', 'ne', 'is_set'] : field.startsWith('cf.') ? CUSTOM_OPERATORS : TEXT_OPERATORS;

  function choose(next: string) {
    setField(next);
    setOperator(kind.times.includes(next) ? 'gte' : next === OWNER ? 'eq' : 'contains');
    setValue(next === OWNER ? 'me' : '');
  }

  function add(event: Event) {
    event.preventDefault();
    const text = operator === 'is_set' ? value || 'true' : isTime ? `${value}${unit}` : value.trim();
    if (!text || (isTime && operator !== 'is_set' && !/^\d+$/.test(value))) return;
    const name = `${field}[${operator}]`;
    const others = current(kind).filters.filter(([known]) => known !== name);
    show(kind, { ...current(kind), filters: [...others, [name, text]] });
    setValue('');
    close();
  }

  if (custom) return <FieldSearch kind={kind} own={[]} pick={(key) => (choose(key), setCustom(false))} />;
  return (
    <form class="filter-form" onSubmit={add}>
      <label>
        Field
        <select value={field} onChange={(event) => (event.currentTarget.value === CUSTOM ? setCustom(true) : choose(event.currentTarget.value))}>
          <optgroup label="Times">{kind.times.map((each) => <option key={each} value={each}>{memberName(each)}</option>)}</optgroup>
          {people.size > 0 && <optgroup label="People"><option value={OWNER}>{memberName(OWNER)}</option></optgroup>}
          <optgroup label="Fields">{kind.texts.map((each) => <option key={each} value={each}>{memberName(each)}</option>)}</optgroup>
          <optgroup label="Custom fields">
            {field.startsWith('cf.') && <option value={field}>{memberName(field)}</option>}
            <option value={CUSTOM}>Find a custom field…</option>
          </optgroup>
        </select>
      </label>
      <label>
        Condition
        <select value={operator} onChange={(event) => setOperator(event.currentTarget.value)}>
          {operators.map((each) => <option key={each} value={each}>{isTime ? TIME_OPERATORS[each] : OPERATORS[each]}</option>)}
        </select>
      </label>
      {operator === 'is_set' ? (
        <label>
          Value
          <select value={value || 'true'} onChange={(event) => setValue(event.currentTarget.value)}>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>
        </label>
      ) : field === OWNER ? (
        <label>
          Value
          <select value={value} onChange={(event) => setValue(event.currentTarget.value)}>
            <option value="me">me</option>
            {[...people].map(([id, name]) => <option key={id} value={id}>{name}</option>)}
          </select>
        </label>
      ) : (
        <div class="pair">
          <label>
            Value
            <input
              type="text"
              inputMode={isTime ? 'numeric' : 'text'}
              pattern={isTime ? '[0-9]{1,4}' : undefined}
              required
              value={value}
              placeholder={isTime ? '7' : operator === 'in' ? 'one,two' : ''}
              onInput={(event) => setValue(event.currentTarget.value)}
            />
          </label>
          {isTime && (
            <label>
              Unit
              <select value={unit} onChange={(event) => setUnit(event.currentTarget.value)}>
                <option value="h">hours</option>
                <option value="d">days</option>
                <option value="w">weeks</option>
              </select>
            </label>
          )}
        </div>
      )}
      <Button type="submit" kind="main">
        Add filter
      </Button>
    </form>
  );
}
