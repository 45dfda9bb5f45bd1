/** A vertical edge that is dragged, or moved by the arrow keys. */
import { useRef } from 'preact/hooks';

interface Props {
  label: string;
  width: number;
  min: number;
  max: number;
  /** Called while it is dragged. */
  onMove: (width: number) => void;
  /** Called with the width to store; null: the drag was cancelled, the width stays. */
  onEnd: (width: number | null) => void;
}

export function Sizer({ label, width, min, max, onMove, onEnd }: Props) {
  const from = useRef<{ x: number; width: number } | null>(null);
  const fits = (wanted: number) => Math.round(Math.max(min, Math.min(max, wanted)));
  return (
    <span
      class="sizer"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) => from.current && onMove(fits(from.current.width + event.clientX - from.current.x))}
      onPointerUp={(event) => {
        if (from.current && event.clientX !== from.current.x) onEnd(fits(from.current.width + event.clientX - from.current.x));
        from.current = null;
      }}
      onPointerCancel={() => (onEnd(null), (from.current = null))}
      onKeyDown={(event) => {
        const step = event.key === 'ArrowRight' ? 16 : event.key === 'ArrowLeft' ? -16 : event.key === 'Home' ? -Infinity : event.key === 'End' ? Infinity : 0;
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        onEnd(fits(width + step));
      }}
    />
  );
}
