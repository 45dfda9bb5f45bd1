/** Where a file is dropped or chosen. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { asProblem, upload, type Problem } from '../api';
import { useShortcuts } from '../keys';
import { go, place } from '../route';
import { Button, Icon, ProblemNote } from '../ui/basic';
import { dismiss, toast, toastProblem } from '../ui/toast';
import { bytes } from '../words';
import type { Many } from './targets';
import type { Job } from './types';

interface Sending {
  name: string;
  size: number;
  share: number;
  stop: AbortController;
}

export function Drop() {
  const many: Many = place.value.query.get('kind') === 'companies' ? 'companies' : 'contacts';
  const [over, setOver] = useState(false);
  const [sending, setSending] = useState<Sending | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const isShown = useRef(true);
  useShortcuts(() => [{ keys: 'n', does: 'Choose a file', group: 'Imports', run: () => field.current?.click() }]);
  useEffect(() => {
    // A file that misses the field must not replace the page.
    const keep = (event: DragEvent) => event.preventDefault();
    addEventListener('dragover', keep);
    addEventListener('drop', keep);
    return () => {
      isShown.current = false;
      removeEventListener('dragover', keep);
      removeEventListener('drop', keep);
    };
  }, []);

  async function take(file: File | undefined) {
    if (!file || sending) return;
    const stop = new AbortController();
    setProblem(null);
    setSending({ name: file.name, size: file.size, share: 0, stop });
    try {
      const job = await upload<Job>(`/public/v2/${many}/imports`, { file_name: file.name }, file, (share) => setSending((old) => old && { ...old, share }), stop.signal);
      const show = () => go(`/imports/${job.id}`);
      if (isShown.current) show();
      else {
        const run = () => {
          dismiss(id);
          show();
        };
        const id = toast(`${file.name} is uploaded.`, { stays: true, action: { text: 'Show its columns', run } });
      }
    } catch (error) {
      if (!isShown.current) toastProblem(error);
      setProblem(asProblem(error));
      setSending(null);
    }
    if (field.current) field.current.value = '';
  }

  return (
    <section class="drop-part" aria-label="Import a file">
      <div class="switch" role="group" aria-label="What the file has">
        {(['contacts', 'companies'] as const).map((each) => (
          <button key={each} type="button" aria-pressed={each === many} onClick={() => go('/imports', { kind: each === 'contacts' ? '' : each }, true)}>
            {each === 'contacts' ? 'Contacts' : 'Companies'}
          </button>
        ))}
      </div>
      <div
        class={`drop ${over ? 'over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files[0]);
        }}
      >
        {sending ? (
          <div class="sending" role="status">
            <p class="cut" dir="auto">
              Sending {sending.name}, {bytes(sending.size)}
            </p>
            <progress max={1} value={sending.share} aria-label="Sent" />
            <Button onClick={() => sending.stop.abort()}>Stop</Button>
          </div>
        ) : (
          <>
            <Icon name="upload" />
            <p>
              Drop a file with {many} here, or{' '}
              <button type="button" class="link" onClick={() => field.current?.click()}>
                choose one
              </button>
            </p>
            <p class="faint">CSV, XLSX, NDJSON or Parquet. Nothing is written before you have seen its columns.</p>
          </>
        )}
        <input ref={field} type="file" class="hidden" tabIndex={-1} aria-label="File" accept=".csv,.tsv,.txt,.xlsx,.ndjson,.jsonl,.parquet" onChange={(event) => void take(event.currentTarget.files?.[0])} />
      </div>
      {problem && problem.code !== 'stopped' && <ProblemNote problem={problem} />}
    </section>
  );
}
