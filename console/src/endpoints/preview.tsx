/** What an endpoint would send, about a fictitious person; nothing is sent. */
import { useState } from 'preact/hooks';
import { asProblem, call, type Problem } from '../api';
import { clients, showsAll } from '../session';
import { Button } from '../ui/basic';
import { previewOf, type Draft } from './draft';
import type { Preview } from './types';

interface Block {
  text?: { text?: string };
  elements?: { text?: string }[];
}

/** The message as its reader sees it, as text. */
function shown(made: Preview): string {
  if (made.not_sent !== undefined) return `Nothing would be sent: ${made.not_sent}`;
  if (typeof made.body === 'string') return `Subject: ${made.headers.Subject ?? ''}\n\n${made.body}`;
  const blocks = (made.body as { blocks?: Block[] } | null)?.blocks;
  if (made.kind === 'slack' && blocks) {
    return blocks.map((each) => each.text?.text ?? each.elements?.map((part) => part.text ?? '').join(' · ') ?? '').join('\n\n');
  }
  return JSON.stringify(made.body, null, 2);
}

export function PreviewPanel({ draft }: { draft: Draft }) {
  const [made, setMade] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  // The person of a preview is no client's, but the route is of one.
  const headers: Record<string, string> = showsAll.value ? { 'x-client-id': clients.value[0]?.client_id ?? 'default' } : {};
  async function show() {
    setBusy(true);
    try {
      setMade((await call<Preview>('POST', '/public/v2/webhook-endpoints/preview', { body: previewOf(draft), headers })).data);
      setProblem(null);
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
  }
  return (
    <section class="preview" aria-label="Preview">
      <Button icon="views" busy={busy} onClick={() => void show()}>
        Preview
      </Button>
      <span class="faint">Shows the message about a fictitious person. Nothing is sent.</span>
      {problem && <p class="wrong" role="alert">{problem.message}</p>}
      {made && (
        <pre class="code" dir="auto" tabIndex={0} aria-label="What would be sent">
          {shown(made)}
        </pre>
      )}
    </section>
  );
}
