/** Columns that several kinds of record have. */
import { OwnerName } from '../record/owner';
import { href } from '../route';
import { Time } from '../ui/basic';
import { StatusMark } from '../ui/status';
import { memberName, type AnyRecord, type Column, type Kind } from './kind';

/** The members of `R` whose values are of a type. */
type Member<R, V> = { [K in keyof R]-?: R[K] extends V ? K : never }[keyof R] & string;
type MaybeText = string | null | undefined;

export function nameColumn<R extends AnyRecord>(path: string, sort: string, nameOf: (of: R) => string): Column<R> {
  return {
    key: 'name',
    name: 'Name',
    width: 200,
    sort,
    isMember: false,
    show: (of) => (
      <a class="strong" href={href(`${path}/${of.id}`)} tabIndex={-1}>
        {nameOf(of)}
      </a>
    ),
  };
}

export function timeColumn<R extends AnyRecord>(key: Member<R, string | null>): Column<R> {
  const at = (of: R) => of[key] as string | null;
  return { key, name: memberName(key), width: 148, sort: key, down: true, show: (of) => <Time at={at(of)} /> };
}

/** A column of texts; `absent` stands where there is none. */
export function textColumn<R extends AnyRecord>(key: Member<R, MaybeText>, width: number, absent = ''): Column<R> {
  const text = (of: R) => (of[key] as MaybeText) ?? '';
  const none = absent ? <span class="absent">{absent}</span> : null;
  return { key, name: memberName(key), width, sort: key, show: (of) => (text(of) ? <span title={text(of)}>{text(of)}</span> : none) };
}

/** Columns of texts that `R` need not name. */
export function textColumns<R extends AnyRecord>(keys: readonly string[]): Column<R>[] {
  return keys.map((key) => textColumn<R>(key as Member<R, MaybeText>, 140));
}

export function statusColumn<R extends AnyRecord>(key: string, statusOf: (of: R) => MaybeText): Column<R> {
  const mark = (of: R) => (statusOf(of) ? <StatusMark status={statusOf(of)} /> : null);
  return { key, name: memberName(key), width: 148, sort: key, show: mark };
}

export function ownerColumn<R extends AnyRecord>(): Column<R> {
  return { key: 'owner_id', name: memberName('owner_id'), width: 140, show: (of) => <OwnerName id={of.owner_id} /> };
}

export function idColumn<R extends AnyRecord>(): Column<R> {
  return { key: 'id', name: 'Id', width: 88, sort: 'id', down: true, number: true, show: (of) => of.id };
}

/** The column of a custom field. */
export function customColumn<R extends AnyRecord>(kind: Kind<R>, name: string): Column<R> {
  return {
    key: `cf.${name}`,
    name,
    width: 140,
    show: (of) => {
      const found = kind.customOf(of)[name];
      return found === undefined || found === null ? null : <span class={typeof found === 'number' ? 'figure' : ''} title={String(found)}>{String(found)}</span>;
    },
  };
}

/** The chosen columns by their keys; the name is always the first, before pinned ones. */
export function columnsOf<R extends AnyRecord>(kind: Kind<R>, keys: readonly string[], pinned: readonly string[]): Column<R>[] {
  const [name] = kind.columns;
  const found = [...keys.filter((key) => pinned.includes(key)), ...keys.filter((key) => !pinned.includes(key))]
    .filter((key) => key !== name.key)
    .map((key) => kind.columns.find((each) => each.key === key) ?? (key.startsWith('cf.') ? customColumn(kind, key.slice(3)) : undefined));
  return [name, ...found.filter((each) => each !== undefined)];
}
