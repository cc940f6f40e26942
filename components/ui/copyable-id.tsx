import { clsx } from 'clsx'
import { CopyButton } from './copy-button.tsx'

interface CopyableIdProps {
  id: string
  /** What the id names, for the label of the copy button: "Receipt id". */
  what: string
  /** Ids up to this length are shown complete. */
  longest?: number
  className?: string
}

/** An id in monospace with a copy button. A long id is shortened in the middle; the button copies, and hover and print show, all of it. */
export function CopyableId({ id, what, longest = 24, className }: CopyableIdProps) {
  const isLong = id.length > longest
  return (
    <span className={clsx('inline-flex max-w-full items-center gap-0.5 align-middle', className)}>
      <code title={id} className="font-mono text-[0.8125rem] wrap-anywhere">
        {isLong ? (
          <>
            <span aria-hidden className="whitespace-nowrap max-[22rem]:whitespace-normal print:hidden">
              {id.slice(0, Math.max(6, longest - 10))}…{id.slice(-6)}
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
