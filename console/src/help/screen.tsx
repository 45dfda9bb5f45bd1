/** The documentation that the server brings, to read and search. */
import { useEffect } from 'preact/hooks';
import { get } from '../api';
import { useRead, useRested } from '../data';
import { useShortcuts } from '../keys';
import { restore } from '../kept';
import { go, place, root } from '../route';
import { useTitle } from '../title';
import { Icon, LoadProblem, Skeleton } from '../ui/basic';
import { Markdown } from './markdown';
import { helpAddress, readPage } from './pages';

/** A part of a page that a search found. */
interface Hit {
  page: string;
  title: string;
  text: string;
}

const INDEX = 'README';

export function Help({ page }: { page: string }) {
  const q = place.value.query.get('q') ?? '';
  const path = page || INDEX;
  const loaded = useRead(`/docs/${path}`, (signal) => readPage(path, signal), { staleTime: Infinity });
  useShortcuts(() => [{ keys: '/', does: 'Search', group: 'Help', run: () => document.querySelector<HTMLElement>('.help-search')?.focus() }]);
  const title = /^# (.*)$/m.exec(loaded.data ?? '')?.[1] ?? 'Help';
  useTitle(title);
  useEffect(() => {
    if (!loaded.data) return;
    // Back has its own place; a link with a heading leads to it.
    const heading = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (heading) heading.scrollIntoView();
    else restore();
  }, [path, loaded.data, location.hash]);
  const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/') + 1) : '';
  const resolve = (to: string) => new URL(to, `https://docs/${folder}`).href.slice('https://docs/'.length);
  const links = { link: (to: string) => (to.startsWith('#') ? `${helpAddress(path)}${to}` : helpAddress(resolve(to).replace(/^README\b/, ''))), picture: (to: string) => `${root}/docs/${resolve(to)}` };
  return (
    <main id="main" class="screen help">
      <header class="screen-head">
        {page && (
          <a class="back" href={helpAddress('')}>
            <Icon name="left" /> All pages
          </a>
        )}
        <span class="push" />
        <a href={`${root}/docs`} target="_blank" rel="noreferrer">
          The API
        </a>
        <input class="help-search" type="search" aria-label="Search the documentation" placeholder="Search /" value={q} onInput={(event) => go('/help', { page, q: event.currentTarget.value }, true)} />
      </header>
      {q.trim() ? (
        <Hits q={q.trim()} />
      ) : (
        <>
          <LoadProblem of={loaded} />
          {!loaded.data && !loaded.error && <Skeleton lines={16} wide={90} />}
          {loaded.data && (
            <article class="prose">
              <Markdown text={loaded.data} links={links} />
            </article>
          )}
        </>
      )}
    </main>
  );
}

function Hits({ q }: { q: string }) {
  const rested = useRested(q, 150);
  const found = useRead(`/docs?q=${rested}`, (signal) => get<{ data: Hit[] }>('/docs/search', { q: rested }, signal), { staleTime: Infinity });
  if (found.error) return <LoadProblem of={found} />;
  if (!found.data) return <Skeleton lines={8} wide={80} />;
  return (
    <>
      <h1 aria-live="polite">{found.data.data.length ? `Pages with “${q}”` : `No page has “${q}”`}</h1>
      <ul class="hits">
        {found.data.data.map((hit) => (
          <li key={hit.page}>
            <a href={helpAddress(hit.page)}>{hit.title}</a>
            <p class="faint">{hit.text}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
