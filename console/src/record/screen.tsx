export function Record(_: { id?: string; delivery?: string }) {
  return <main id="main" class="screen" />;
}
