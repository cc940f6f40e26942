import { clsx } from 'clsx'

const tones: Record<string, string> = {
  get: 'text-accent border-accent/50',
  delete: 'text-red border-red/50',
}

/** The HTTP method of an operation. */
export const Method = ({ method }: { method: string }) => (
  <span
    className={clsx(
      'rounded-small border px-1.5 font-mono text-[0.8125rem] font-medium uppercase',
      tones[method] ?? 'border-edge text-ink',
    )}
  >
    {method}
  </span>
)
