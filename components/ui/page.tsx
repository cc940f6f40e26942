import { clsx } from 'clsx'
import type { ReactNode } from 'react'

interface PageProps {
  /** Answers the question of the page in words. */
  title: ReactNode
  lead?: ReactNode
  width?: 'narrow' | 'text' | 'wide'
  children: ReactNode
}
const widths = { narrow: 'max-w-md', text: 'max-w-3xl', wide: 'max-w-5xl' }

export const Page = ({ title, lead, width = 'text', children }: PageProps) => (
  <main
    id="content"
    tabIndex={-1}
    className={clsx(
      'mx-auto grid w-full grow content-start gap-8 px-4 py-8 outline-none sm:px-6 sm:py-12',
      widths[width],
    )}
  >
    <header className="grid gap-3">
      <h1 className="text-title font-semibold tracking-tight [overflow-wrap:anywhere]">{title}</h1>
      {lead && <div className="grid gap-2 text-quiet">{lead}</div>}
    </header>
    {children}
  </main>
)

export const Section = ({
  title,
  lead,
  children,
  id,
}: {
  title: string
  lead?: ReactNode
  children: ReactNode
  id?: string
}) => (
  <section id={id} aria-labelledby={id && `${id}-title`} className="grid content-start gap-4 border-t border-line pt-6">
    <header className="grid gap-1">
      <h2 id={id && `${id}-title`} className="text-lg font-semibold">
        {title}
      </h2>
      {lead && <p className="text-quiet">{lead}</p>}
    </header>
    {children}
  </section>
)
