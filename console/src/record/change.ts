import { call } from '../api';
import type { AnyRecord, Kind } from '../kinds/kind';
import { toast } from '../ui/toast';

/** Change one field; the message offers the way back. */
export async function change<R extends AnyRecord>(kind: Pick<Kind<R>, 'api'>, id: number, body: object, back: object, said: string, reload: () => void): Promise<void> {
  const path = `${kind.api}/${id}`;
  await call('PATCH', path, { body });
  reload();
  toast(said, {
    undo: async () => {
      await call('PATCH', path, { body: back });
      reload();
    },
  });
}
