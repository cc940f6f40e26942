import { clsx } from 'clsx'
import { PageLink } from '#components/ui/page-link.tsx'

interface BrandProps {
  href: string
  /** The organization of the signed-in person. */
  organisation?: string
  /** Shows only the mark. */
  isNarrow?: boolean
}

/** The mark and the name of the product, as a link to the start. */
export const Brand = ({ href, organisation, isNarrow = false }: BrandProps) => (
  <PageLink
    href={href}
    title={isNarrow ? 'KnowledgePulse' : undefined}
    className={clsx('flex min-h-9 min-w-0 items-center gap-2 rounded-small', isNarrow && 'justify-center')}
  >
    <svg viewBox="0 0 32 32" aria-hidden="true" className="size-6 shrink-0 text-accent">
      <path
        d="M3 17h7l3-8 5 15 3.5-10 1.5 3h6"
        fill="none"
        stroke="currentColor"
        strokeWidth="3"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
    <span className={isNarrow ? 'sr-only' : 'grid min-w-0 leading-tight'}>
      <span className="truncate font-semibold tracking-tight">KnowledgePulse</span>
      {organisation !== undefined && (
        <span className="truncate text-[0.8125rem] text-quiet" title={organisation}>
          {organisation}
        </span>
      )}
    </span>
  </PageLink>
)
