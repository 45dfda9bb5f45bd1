/** A field to choose among all of a client's: those of records, and custom fields by a search of their names on the server. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useGet, useRested } from '../data';
import { memberName, type AnyRecord, type Kind } from '../kinds/kind';
import type { CustomField, Page } from '../types';
import { Entry } from '../ui/overlay';

const SHOWN = 50;

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  /** The fields of records, in their order. */
  own: readonly string[];
  pick: (key: string) => void;
  chosen?: readonly string[];
  nameOf?: (key: string) => string;
  children?: ComponentChildren;
}

export function FieldSearch<R extends AnyRecord>({ kind, own, pick, chosen, nameOf = memberName, children }: Props<R>) {
  const [text, setText] = useState('');
  const sought = useRested(text.trim(), 150);
  const custom = useGet<Page<CustomField>>(`/public/v2/custom-fields/${kind.many}`, { ...(sought && { q: sought }), limit: String(SHOWN) }, { staleTime: 60_000 });
  const fits = (name: string) => name.toLowerCase().includes(text.trim().toLowerCase());
  const shown = own.filter((key) => fits(nameOf(key)));
  return (
    <div class="entries">
      <input type="search" aria-label="Find a field" placeholder="Find a field" value={text} spellcheck={false} autocomplete="off" onInput={(event) => setText(event.currentTarget.value)} />
      {shown.map((key) => (
        <Entry key={key} {...(chosen && { chosen: chosen.includes(key) })} onPick={() => pick(key)}>
          {nameOf(key)}
        </Entry>
      ))}
      {custom.data?.data.filter(({ name }) => fits(name)).map(({ name }) => (
        <Entry key={`cf.${name}`} {...(chosen && { chosen: chosen.includes(`cf.${name}`) })} note="custom" onPick={() => pick(`cf.${name}`)}>
          {name}
        </Entry>
      ))}
      {custom.isFetching && <p class="faint" aria-busy="true">Searching…</p>}
      {custom.error && <p class="wrong" role="alert">{custom.error.message}</p>}
      {custom.data && !custom.data.data.length && !shown.length && <p class="faint">No field has this in its name.</p>}
      {custom.data?.next_cursor && <p class="faint">More custom fields than these {SHOWN}: type a part of a name.</p>}
      {children}
    </div>
  );
}
