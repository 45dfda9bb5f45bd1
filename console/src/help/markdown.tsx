/** The Markdown of the documentation as elements: headings, paragraphs, lists, tables, code, quotes, links and pictures. No HTML is read. */
import type { ComponentChildren, JSX } from 'preact';

export interface Links {
  /** The address of a page or of a place on one, from the link's own text. */
  link: (to: string) => string;
  picture: (to: string) => string;
}

const INLINE = /(`+)(.+?)\1|!\[([^\]]*)\]\(([^)\s]+)\)|\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)|\*\*(.+?)\*\*|\*([^*\s][^*]*)\*|<(https?:[^>\s]+)>/g;
const ITEM = /^(\s*)(-|\d+\.) +/;

/** The name of a heading in addresses, as code hosts make it. */
export function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');
}

function inline(text: string, links: Links): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, , code, alternative, picture, label, to, bold, italic, address] = match;
    parts.push(text.slice(from, match.index));
    from = match.index + all.length;
    if (code !== undefined) parts.push(<code>{code.trim()}</code>);
    else if (picture !== undefined) parts.push(<img src={links.picture(picture)} alt={alternative ?? ''} />);
    else if (label !== undefined && to !== undefined) parts.push(<Link to={to} links={links}>{inline(label, links)}</Link>);
    else if (bold !== undefined) parts.push(<b>{inline(bold, links)}</b>);
    else if (italic !== undefined) parts.push(<em>{inline(italic, links)}</em>);
    else if (address !== undefined) parts.push(<Link to={address} links={links}>{address}</Link>);
  }
  parts.push(text.slice(from));
  return parts;
}

function Link({ to, links, children }: { to: string; links: Links; children: ComponentChildren }) {
  if (/^https?:/.test(to)) return <a href={to} target="_blank" rel="noreferrer noopener">{children}</a>;
  return <a href={links.link(to)}>{children}</a>;
}

/** The cells of a row of a table: a bar in code, or behind a backslash, ends none. */
function cells(row: string): string[] {
  const inner = row.trim().replace(/^\||\|$/g, '');
  return (inner.match(/(?:\\\||`[^`]*`|[^|])+|(?<=\|)(?=\|)/g) ?? []).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Render a page; anything that is not known is shown as text. */
export function Markdown({ text, links }: { text: string; links: Links }) {
  const lines = text.replace(/<!--.*?-->/gs, '').split('\n');
  const blocks: ComponentChildren[] = [];
  let at = 0;
  /** Take lines as long as they belong to a block. */
  const take = (belongs: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && belongs(lines[at] ?? '')) at += 1;
    return lines.slice(from, at);
  };
  const isPlain = (line: string) => line.trim() !== '' && !/^(#{1,6} |```|\||> ?)/.test(line) && !ITEM.test(line);
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const heading = /^(#{1,6}) +(.*)$/.exec(line);
    if (!line.trim()) at += 1;
    else if (heading) {
      at += 1;
      const Tag = `h${heading[1]?.length ?? 1}` as keyof JSX.IntrinsicElements & 'h1';
      blocks.push(<Tag id={anchorOf(heading[2] ?? '')}>{inline(heading[2] ?? '', links)}</Tag>);
    } else if (line.startsWith('```')) {
      at += 1;
      blocks.push(<pre class="code" tabIndex={0} aria-label="Code">{take((next) => !next.startsWith('```')).join('\n')}</pre>);
      at += 1;
    } else if (line.startsWith('|')) {
      const [head = '', , ...rows] = take((next) => next.startsWith('|'));
      blocks.push(<Table head={cells(head)} rows={rows.map(cells)} links={links} />);
    } else if (line.startsWith('>')) {
      blocks.push(<blockquote><Markdown text={take((next) => next.startsWith('>')).map((next) => next.replace(/^> ?/, '')).join('\n')} links={links} /></blockquote>);
    } else if (ITEM.test(line)) {
      const indent = (ITEM.exec(line)?.[1] ?? '').length;
      const items: string[][] = [];
      const belongs = (next: string, n: number) => ITEM.test(next) || /^\s+\S/.test(next) || (next.trim() !== '' && isPlain(next)) || (next.trim() === '' && /^\s+\S|^\s*(-|\d+\.) /.test(lines[n + 1] ?? ''));
      take((next) => {
        if (!belongs(next, at)) return false;
        const item = ITEM.exec(next);
        if (item && (item[1] ?? '').length <= indent) items.push([next.slice(item[0].length)]);
        else items.at(-1)?.push(next.replace(/^ {1,3}/, ''));
        return true;
      });
      const List = /^\s*\d/.test(line) ? 'ol' : 'ul';
      blocks.push(<List>{items.map((item, n) => <li key={n}>{item.length === 1 ? inline(item[0] ?? '', links) : <Markdown text={item.join('\n')} links={links} />}</li>)}</List>);
    } else {
      const paragraph = take(isPlain);
      // What looks like the beginning of a block and is none.
      if (!paragraph.length) paragraph.push(lines[at++] ?? '');
      blocks.push(<p>{inline(paragraph.join(' '), links)}</p>);
    }
  }
  return <>{blocks}</>;
}

function Table({ head, rows, links }: { head: readonly string[]; rows: readonly string[][]; links: Links }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Table: ${head.filter(Boolean).join(', ') || 'values'}`}>
      <table class="table">
        <thead>
          <tr>{head.map((cell, n) => (cell ? <th key={n} scope="col">{inline(cell, links)}</th> : <td key={n} />))}</tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            <tr key={n}>{row.map((cell, m) => <td key={m}>{inline(cell, links)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
