export function Overview(_: { id?: string; delivery?: string }) {
  return <main id="main" class="screen" />;
}
