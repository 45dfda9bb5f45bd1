/** Other records that may be the same person or company: the same name in the same client, with a merge that can be undone. */
import { useState } from 'preact/hooks';
import { get } from '../api';
import { MergeDialog } from '../duplicates/merge';
import type { AnyRecord, Kind } from '../kinds/kind';
import { useRead } from '../data';
import { go, href } from '../route';
import { canWrite } from '../session';
import type { Page } from '../types';
import { Button } from '../ui/basic';

interface Props<R extends AnyRecord> {
  kind: Kind<R>;
  record: R;
  reload: () => void;
}

export function Doubles<R extends AnyRecord>({ kind, record, reload }: Props<R>) {
  const named = kind.twins(record);
  const [other, setOther] = useState<R | null>(null);
  const loaded = useRead(`${kind.api}?doubles of ${record.id} as of ${record.updated_time}`, async (signal) => {
    if (!named) return [];
    const page = await get<Page<R>>(kind.api, { ...named, limit: '6', structure: 'FLAT' }, signal);
    return page.data.filter((each) => each.id !== record.id);
  });
  const all = (
    <a class="source" href={href('/duplicates', kind.many === 'companies' ? { of: 'companies' } : {})}>
      Find duplicates
    </a>
  );
  if (!loaded.data?.length) return <p>{all}</p>;
  return (
    <section class="doubles" aria-labelledby="doubles">
      <h2 id="doubles">Has the same name</h2>
      <ul>
        {loaded.data.map((each) => (
          <li key={each.id}>
            <a class="cut" href={href(`${kind.path}/${each.id}`)}>
              {kind.below(each) || kind.nameOf(each)}
            </a>
            {canWrite.value && <Button onClick={() => setOther(each)}>Merge…</Button>}
          </li>
        ))}
      </ul>
      {all}
      {other && (
        <MergeDialog
          kind={kind}
          one={record}
          other={other}
          onClose={() => setOther(null)}
          onMerged={(into) => (into === record.id ? reload() : go(`${kind.path}/${into}`))}
          onUndone={(_, gone) => go(`${kind.path}/${gone}`)}
        />
      )}
    </section>
  );
}
