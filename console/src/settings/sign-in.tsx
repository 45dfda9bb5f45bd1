/** How people sign in to this server: what its settings say, and whether the provider answers. Nothing is changed here. */
import { useGet } from '../data';
import { href } from '../route';
import type { Schemas } from '../types';
import { ProblemNote, Skeleton } from '../ui/basic';
import { words } from '../words';
import { SettingsTabs } from './tabs';

type Ways = Schemas['SignInWays'];

export function SignInWays() {
  const { data, error, refetch } = useGet<Ways>('/team/v1/sign-in');
  return (
    <main id="main" class="screen clients settings">
      <header class="screen-head">
        <div class="who">
          <h1>Sign-in</h1>
          <p class="faint">How people sign in to this server.</p>
        </div>
      </header>
      <SettingsTabs />
      {error && <ProblemNote problem={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton lines={8} wide={80} />}
      {data && <Shown ways={data} />}
    </main>
  );
}

function Shown({ ways: { keys_needed: isNeeded, passwords, links, provider, session_idle_days: idle, session_longest_days: longest } }: { ways: Ways }) {
  if (!isNeeded) {
    return (
      <p class="lead">
        Nobody has to sign in: the server is open, on this machine. <a href={href('/help', { page: 'how-to/let-your-team-sign-in' })}>Let your team sign in</a>
      </p>
    );
  }
  return (
    <>
      <section class="panel" aria-labelledby="ways">
        <h2 id="ways">Ways to sign in</h2>
        <dl class="fact-list">
          <Fact name="Provider">{provider ? `${provider.name}${provider.only ? ', the only way' : ''}` : 'None: set TOUCHBASE_OIDC_ISSUER and TOUCHBASE_OIDC_CLIENT_ID'}</Fact>
          <Fact name="Password">{passwords ? 'Yes, of at least 12 characters' : 'No: TOUCHBASE_OIDC_ONLY is on'}</Fact>
          <Fact name="Link by email">{links ? 'Yes' : passwords ? 'No: set TOUCHBASE_SMTP_URL and TOUCHBASE_SMTP_FROM' : 'No: TOUCHBASE_OIDC_ONLY is on'}</Fact>
          <Fact name="API key">Yes</Fact>
          <Fact name="Sessions">{`End after ${idle} days without use, and after ${longest} days`}</Fact>
        </dl>
      </section>
      {provider && (
        <section class="panel" aria-labelledby="provider">
          <h2 id="provider">Provider</h2>
          <dl class="fact-list">
            <Fact name="State">{provider.problem ? <span class="wrong">{provider.problem}</span> : 'Answers'}</Fact>
            <Fact name="Issuer">{provider.issuer}</Fact>
            <Fact name="Client id">{provider.client_id}</Fact>
            <Fact name="Address to allow there">{provider.redirect_uri}</Fact>
            <Fact name="First sign-in">{provider.sign_up === 'invited' ? 'Invited people' : provider.sign_up === 'groups' ? 'Everybody with a role below' : `Everybody of the domains below, as ${provider.sign_up}`}</Fact>
            {provider.domains.length > 0 && <Fact name="Domains">{provider.domains.join(', ')}</Fact>}
            {provider.role_claim && <Fact name="Roles">{`By ${provider.role_claim}: ${Object.entries(provider.roles).map(([value, role]) => `${value} is ${words(role)}`).join(', ')}`}</Fact>}
          </dl>
          <p class="faint">Change it by the settings TOUCHBASE_OIDC_… of the server. <a href={href('/help', { page: 'how-to/let-your-team-sign-in' })}>Let your team sign in</a></p>
        </section>
      )}
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
