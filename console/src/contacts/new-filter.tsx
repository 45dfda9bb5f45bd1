/** Adding a filter: a field, what must hold, a value. */
import { useState } from 'preact/hooks';
import { Button } from '../ui/basic';
import { Popover } from '../ui/overlay';
import { fieldName } from './columns';
import { current, OPERATORS, show, TIME_OPERATORS } from './view';

const TIMES = ['last_reply_received', 'last_campaign_email_sent', 'first_campaign_email_sent', 'status_changed_at', 'updated_time', 'created_time'];
const TEXTS = ['email', 'first_name', 'last_name', 'origin', 'linkedin_url', 'external_id', 'contact_status', 'previous_status', 'company.name', 'company.domain', 'company.company_status'];
const TEXT_OPERATORS = ['contains', 'eq', 'ne', 'starts_with', 'in', 'is_set'];
const CUSTOM_OPERATORS = ['contains', 'eq', 'ne', 'gte', 'lte', 'is_set'];

export function NewFilter({ custom }: { custom: readonly string[] }) {
  return (
    <Popover text="Filter" icon="plus">
      {(close) => <Form custom={custom} close={close} />}
    </Popover>
  );
}

function Form({ custom, close }: { custom: readonly string[]; close: () => void }) {
  const [field, setField] = useState('last_reply_received');
  const [operator, setOperator] = useState('gte');
  const [value, setValue] = useState('');
  const [unit, setUnit] = useState('d');
  const isTime = TIMES.includes(field);
  const operators = isTime ? Object.keys(TIME_OPERATORS) : field.startsWith('cf.') ? CUSTOM_OPERATORS : TEXT_OPERATORS;

  function choose(next: string) {
    setField(next);
    setOperator(TIMES.includes(next) ? 'gte' : 'contains');
  }

  function add(event: Event) {
    event.preventDefault();
    const text = operator === 'is_set' ? value || 'true' : isTime ? `${value}${unit}` : value.trim();
    if (!text || (isTime && operator !== 'is_set' && !/^\d+$/.test(value))) return;
    const name = `${field}[${operator}]`;
    const others = current().filters.filter(([known]) => known !== name);
    show({ ...current(), filters: [...others, [name, text]] });
    setValue('');
    close();
  }

  return (
    <form class="filter-form" onSubmit={add}>
      <label>
        Field
        <select value={field} onChange={(event) => choose(event.currentTarget.value)}>
          <optgroup label="Times">{TIMES.map((each) => <option key={each} value={each}>{fieldName(each)}</option>)}</optgroup>
          <optgroup label="Fields">{TEXTS.map((each) => <option key={each} value={each}>{fieldName(each)}</option>)}</optgroup>
          {custom.length > 0 && <optgroup label="Custom fields">{custom.map((each) => <option key={each} value={`cf.${each}`}>{each}</option>)}</optgroup>}
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
