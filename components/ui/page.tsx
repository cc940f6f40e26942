import { clsx } from 'clsx'
import type { ReactNode } from 'react'
import { type Breadcrumb, Breadcrumbs } from './trail.tsx'

interface PageProps {
  /** A noun: "Privacy requests", or the name of the record. */
  title: ReactNode
  /** The number of records, beside the title. */
  count?: ReactNode
  /** The status of the record: a `Badge`. */
  status?: ReactNode
  /** One line with the answer and its numbers: "13 open, 2 overdue". */
  summary?: ReactNode
  /** At most two lines, for pages that need an explanation. */
  lead?: ReactNode
  /** The pages above this record, from the section down. */
  breadcrumbs?: readonly Breadcrumb[]
  /** The primary action; put others into a `Menu`. */
  actions?: ReactNode
  /** The views of the record: `Tabs`. */
  tabs?: ReactNode
  /** Facts of the record: a column on the right, below the content on narrow screens. */
  aside?: ReactNode
  /** `wide` for tables, `text` for prose and forms, `narrow` for a single form. */
  width?: 'narrow' | 'text' | 'wide'
  children?: ReactNode
}
const widths = { narrow: 'max-w-md', text: 'max-w-[48rem]', wide: 'max-w-[90rem]' }

/** The main part of every page: title with count, status and actions, summary, content, and a facts column. */
export const Page = ({
  title,
  count,
  status,
  summary,
  lead,
  breadcrumbs,
  actions,
  tabs,
  aside,
  width = 'text',
  children,
}: PageProps) => (
  <main
    id="content"
    tabIndex={-1}
    className={clsx(
      'mx-auto grid w-full min-w-0 in-[.with-sidebar]:mx-0 grow grid-cols-[minmax(0,1fr)] content-start gap-6 px-4 py-6 outline-none sm:px-6 sm:py-8',
      widths[aside ? 'wide' : width],
    )}
  >
    <header className="grid gap-2">
      {breadcrumbs && breadcrumbs.length > 0 && <Breadcrumbs trail={breadcrumbs} />}
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 className="min-w-0 text-title font-semibold tracking-tight wrap-anywhere">{title}</h1>
          {count !== undefined && <span className="text-title text-quiet tabular-nums">{count}</span>}
          {status}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2 print:hidden">{actions}</div>}
      </div>
      {summary && <div className="text-quiet">{summary}</div>}
      {lead && <div className="grid max-w-[48rem] gap-2 text-quiet">{lead}</div>}
    </header>
    {tabs}
    {aside ? (
      <div className="grid grid-cols-[minmax(0,1fr)] gap-x-8 gap-y-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="grid min-w-0 content-start gap-6">{children}</div>
        <aside className="grid min-w-0 content-start gap-6">{aside}</aside>
      </div>
    ) : (
      children
    )}
  </main>
)

interface SectionProps {
  title: string
  lead?: ReactNode
  /** Buttons at the right of the title. */
  actions?: ReactNode
  children: ReactNode
  id?: string
}
export const Section = ({ title, lead, actions, children, id }: SectionProps) => (
  <section id={id} aria-labelledby={id && `${id}-title`} className="grid content-start gap-4 border-t border-line pt-6">
    <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
      <div className="grid min-w-0 gap-1">
        <h2 id={id && `${id}-title`} className="text-lg font-semibold">
          {title}
        </h2>
        {lead && <p className="text-quiet">{lead}</p>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2 print:hidden">{actions}</div>}
    </header>
    {children}
  </section>
)

/** Grouped content in a box: the facts column, a chart, a form. */
export const Card = ({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) => (
  <section className="grid min-w-0 content-start gap-3 rounded-box border border-line bg-raised p-4">
    {title !== undefined && (
      <header className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="font-semibold">{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
)
