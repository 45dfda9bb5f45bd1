import { render } from 'preact';
import { Keys } from './api-keys/screen';
import { Clients } from './clients/list';
import { ClientScreen } from './clients/screen';
import { Words } from './clients/words-screen';
import { Duplicates } from './duplicates/screen';
import { Erasure } from './erasure/screen';
import { Imports } from './imports/screen';
import { Inbox } from './inbox/screen';
import { Companies, Contacts } from './kinds/screens';
import { Outgoing } from './outgoing/screen';
import { Overview } from './overview/screen';
import { CompanyPage, ContactPage } from './record/screen';
import { Replies } from './replies/screen';
import { client, place } from './route';
import { endedBecause, session, start, startProblem } from './session';
import { Settings } from './settings/screen';
import { Shell } from './shell';
import { SignIn } from './sign-in';
import { Suppressions } from './suppressions/screen';
import { Empty, ProblemNote } from './ui/basic';
import { Toasts } from './ui/toast';

function Screen() {
  const [first, second] = place.value.path;
  if (first === undefined) return <Overview key={client.value} />;
  if (first === 'contacts' && second !== undefined) return <ContactPage key={`${client.value} ${second}`} id={second} />;
  if (first === 'contacts') return <Contacts key={client.value} />;
  if (first === 'companies' && second !== undefined) return <CompanyPage key={`company ${client.value} ${second}`} id={second} />;
  if (first === 'companies') return <Companies key={`companies ${client.value}`} />;
  if (first === 'duplicates') return <Duplicates />;
  if (first === 'imports') return <Imports key={client.value} job={second ?? ''} />;
  if (first === 'suppressions') return <Suppressions key={client.value} />;
  if (first === 'replies') return <Replies key={client.value} />;
  if (first === 'inbox') return <Inbox key={client.value} delivery={second ?? ''} />;
  if (first === 'erasure') return <Erasure key={client.value} />;
  if (first === 'outgoing') return <Outgoing key={client.value} endpoint={second ?? ''} />;
  const words = first === 'clients' ? place.value.query.get('words') : null;
  if (first === 'clients' && second !== undefined && words !== null) return <Words key={`${second} ${words}`} id={second} of={words} />;
  if (first === 'clients' && second !== undefined) return <ClientScreen key={second} id={second} />;
  if (first === 'clients') return <Clients />;
  if (first === 'keys') return <Keys />;
  if (first === 'settings') return <Settings key={`${client.value} ${place.value.query.get('of')}`} />;
  return (
    <main id="main" class="screen">
      <Empty icon="search" whole title="There is no such page">
        <p>The address may have been cut off. Everything is reached from the navigation, or by typing after Ctrl K.</p>
      </Empty>
    </main>
  );
}

function App() {
  if (startProblem.value) {
    return (
      <main class="centre">
        <ProblemNote problem={startProblem.value} retry={() => void start()} />
      </main>
    );
  }
  const known = session.value;
  if (!known) return <main class="centre" aria-busy="true" aria-label="Loading" />;
  if (!known.signed_in) return <SignIn because={endedBecause.value} />;
  return (
    <>
      <Shell>
        <Screen />
      </Shell>
      <Toasts />
    </>
  );
}

const app = document.getElementById('app');
if (app) render(<App />, app);
void start();
