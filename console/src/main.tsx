import { QueryClientProvider } from '@tanstack/preact-query';
import { render } from 'preact';
import { queries } from './data';
import './kept';
import './told';
import { Companies, Contacts } from './kinds/screens';
import { Overview } from './overview/screen';
import { CompanyPage, ContactPage } from './record/screen';
import { Replies } from './replies/screen';
import { client, place } from './route';
import { endedBecause, session, seesEveryClient, showsAll, start, startProblem } from './session';
import { ChooseClient, Shell } from './shell';
import { Join, SignIn, SignInAgain, SignInByLink } from './sign-in';
import { Empty, ProblemNote } from './ui/basic';
import { later } from './ui/later';
import { Toasts } from './ui/toast';

const AuditLog = later(() => import('./more').then((all) => all.AuditLog));
const Bin = later(() => import('./more').then((all) => all.Bin));
const Clients = later(() => import('./more').then((all) => all.Clients));
const ClientScreen = later(() => import('./more').then((all) => all.ClientScreen));
const Duplicates = later(() => import('./more').then((all) => all.Duplicates));
const Endpoints = later(() => import('./more').then((all) => all.Endpoints));
const Erasure = later(() => import('./more').then((all) => all.Erasure));
const Help = later(() => import('./more').then((all) => all.Help));
const History = later(() => import('./more').then((all) => all.History));
const Imports = later(() => import('./more').then((all) => all.Imports));
const Keys = later(() => import('./more').then((all) => all.Keys));
const Profile = later(() => import('./more').then((all) => all.Profile));
const Reports = later(() => import('./more').then((all) => all.Reports));
const Settings = later(() => import('./more').then((all) => all.Settings));
const Suppressions = later(() => import('./more').then((all) => all.Suppressions));
const Tasks = later(() => import('./more').then((all) => all.Tasks));
const Team = later(() => import('./more').then((all) => all.Team));
const Webhooks = later(() => import('./more').then((all) => all.Webhooks));
const Words = later(() => import('./more').then((all) => all.Words));

/** Screens whose content belongs to one client. */
const OF_CLIENT: readonly (string | undefined)[] = ['contacts', 'companies', 'imports'];

function Screen() {
  const [first, second] = place.value.path;
  const isOfClient = OF_CLIENT.includes(first) || (first === 'endpoints' && second !== undefined && !second.startsWith('all-') && !(second === 'new' && seesEveryClient.value));
  if (showsAll.value && isOfClient) return <ChooseClient />;
  if (first === undefined) return <Overview key={client.value} />;
  if (first === 'contacts' && second !== undefined) return <ContactPage key={`${client.value} ${second}`} id={second} />;
  if (first === 'contacts') return <Contacts key={client.value} />;
  if (first === 'companies' && second !== undefined) return <CompanyPage key={`company ${client.value} ${second}`} id={second} />;
  if (first === 'companies') return <Companies key={`companies ${client.value}`} />;
  if (first === 'help') return <Help key={place.value.query.get('page')} page={place.value.query.get('page') ?? ''} />;
  if (first === 'duplicates') return <Duplicates />;
  if (first === 'bin') return <Bin key={client.value} />;
  if (first === 'history') return <History key={client.value} />;
  if (first === 'reports') return <Reports key={client.value} />;
  if (first === 'imports') return <Imports key={client.value} job={second ?? ''} />;
  if (first === 'suppressions') return <Suppressions key={client.value} />;
  if (first === 'replies') return <Replies key={client.value} />;
  if (first === 'tasks') return <Tasks key={client.value} />;
  if (first === 'webhooks') return <Webhooks key={client.value} delivery={second ?? ''} />;
  if (first === 'erasure') return <Erasure key={client.value} />;
  if (first === 'endpoints') return <Endpoints key={client.value} endpoint={second ?? ''} />;
  const words = first === 'clients' ? place.value.query.get('words') : null;
  if (first === 'clients' && second !== undefined && words !== null) return <Words key={`${second} ${words}`} id={second} of={words} />;
  if (first === 'clients' && second !== undefined) return <ClientScreen key={second} id={second} />;
  if (first === 'clients') return <Clients />;
  if (first === 'keys') return <Keys />;
  if (first === 'audit') return <AuditLog />;
  if (first === 'team') return <Team />;
  if (first === 'profile') return <Profile />;
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
  if (place.value.path[0] === 'join') return <Join />;
  if (place.value.path[0] === 'sign-in' && location.hash) return <SignInByLink />;
  if (!known.signed_in && !endedBecause.value) return <SignIn />;
  return (
    <>
      <Shell>
        <Screen />
      </Shell>
      <Toasts />
      {!known.signed_in && <SignInAgain because={endedBecause.value} />}
    </>
  );
}

const app = document.getElementById('app');
if (app) {
  render(
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>,
    app,
  );
}
void start();
