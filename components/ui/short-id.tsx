import { CopyButton } from './copy-button.tsx'

/** An id in monospace with a copy button. A long id is shortened in the middle, but complete on hover and in print. */
export function ShortId({ id, what }: { id: string; what: string }) {
  const isLong = id.length > 24
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 align-middle">
      <code title={id} className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">
        {isLong ? (
          <>
            <span aria-hidden className="print:hidden">
              {id.slice(0, 14)}…{id.slice(-6)}
            </span>
            <span className="sr-only print:not-sr-only">{id}</span>
          </>
        ) : (
          id
        )}
      </code>
      <CopyButton text={id} what={what} isSmall />
    </span>
  )
}
