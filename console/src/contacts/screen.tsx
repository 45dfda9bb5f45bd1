import { useEffect, useMemo } from 'preact/hooks';
import { href, root, client } from '../route';
import { canWrite, clients, session } from '../session';
import { Button, Empty, ProblemNote } from '../ui/basic';
import { copy } from '../ui/overlay';
import { toast } from '../ui/toast';
import { Bulk } from './bulk';
import { columnsOf } from './columns';
import { Grid, newSelection } from './grid';
import { Rows } from './rows';
import { Toolbar } from './toolbar';
import { current, rowsKey } from './view';

export function Contacts() {
  const view = current();
  const key = rowsKey(view);
  const rows = useMemo(() => new Rows(view), [key]);
  const selection = useMemo(newSelection, []);
  useEffect(() => {
    document.title = 'Contacts · Touchbase';
    selection.ids.value = new Set();
    return () => rows.stop();
  }, [rows]);
  rows.version.value;
  const isEmpty = rows.isComplete && rows.known === 0;
  const problem = rows.problem.value;
  return (
    <main id="main" class="screen fixed">
      <h1 class="hidden">Contacts</h1>
      <Toolbar view={view} rows={rows} />
      {problem && <ProblemNote problem={problem} retry={() => rows.retry()} />}
      {isEmpty ? (
        view.q || view.filters.length ? (
          <NothingFound />
        ) : (
          <NoContacts />
        )
      ) : (
        <Grid rows={rows} view={view} columns={columnsOf(view.columns)} selection={selection} selectable={canWrite.value} />
      )}
      {canWrite.value && <Bulk rows={rows} selection={selection} />}
    </main>
  );
}

function NothingFound() {
  return (
    <Empty icon="search" title="No contact matches">
      <p>A word finds what begins with it: names, addresses, companies and custom fields. All filters must hold.</p>
      <a class="button" href={href('/contacts')}>
        Show all contacts
      </a>
    </Empty>
  );
}

function NoContacts() {
  const id = client.value || session.value?.client_id || 'default';
  const hook = `${location.origin}${root}/public/emailcampaign-webhook/${id}`;
  const name = clients.value.find((each) => each.client_id === id)?.name;
  return (
    <Empty icon="contacts" title={name ? `${name} has no contacts yet` : 'No contacts yet'}>
      <p>Paste this address into your campaign tool as its webhook. The first mail or reply that it reports makes the first contact.</p>
      <p class="copy-line">
        <code class="cut">{hook}</code>
        <Button icon="copy" onClick={() => void copy(hook).then(() => toast('The address is copied.'))}>
          Copy
        </Button>
      </p>
      <p class="faint">
        Or import a list: <code>touchbase contacts import people.csv</code>
      </p>
    </Empty>
  );
}
