'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useRef, useState, useTransition } from 'react'
import { useQueryState, useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { SavedViews } from '#components/frame/saved-views.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { AuditFilterBar } from './audit-filters.tsx'
import { type AuditPage, type ListedAct, useEntryWindow } from './audit-pages.ts'
import { FirstRows } from './entry-rows.tsx'
import {
  type AuditBrowserFilters,
  type AuditQuery,
  auditEntryOf,
  auditFilterParsers,
  entryKey,
  isAuditFiltered,
  noAuditFilters,
  rounded,
  searchOf,
} from './filters.ts'

interface AuditBrowserProps {
  /** The query, with the time of the newest row. */
  query: AuditQuery & { to: string }
  /** The first page; undefined if the query failed. */
  first: AuditPage | undefined
  problem: ProblemDocument | undefined
}
const exportForm = () => import('./export-form.tsx')
const drawer = () => import('./entry-drawer.tsx')
const scroller = () => import('./entry-scroller.tsx')

/** The audit log. The address holds the filters and the open entry. Rows end at a fixed time, so that new entries do not move them. */
export function AuditBrowser({ query, first, problem }: AuditBrowserProps) {
  const t = useTranslations('audit')
  const router = useRouter()
  const [isGoing, begin] = useTransition()
  const [filters, setFilters] = useQueryStates(auditFilterParsers, {
    shallow: false,
    history: 'push',
    startTransition: begin,
  })
  const isPinned = filters.to !== null
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <AuditFilterBar
        key={searchOf({ ...filters, reads: null })}
        filters={filters}
        names={namesIn(first?.data ?? [], filters)}
        onChange={(next) => void setFilters(next)}
      />
      {problem && <ProblemAlert problem={problem} />}
      {first && (
        <>
          <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 text-sm">
            <Summary
              first={first}
              to={query.to}
              hasReads={query.reads === undefined}
              onReads={filters.action === 'read' ? undefined : (reads) => void setFilters({ reads })}
            />
            <div className="flex flex-wrap gap-2">
              {isPinned ? (
                <Button tone="plain" size="small" onClick={() => void setFilters({ to: null })}>
                  {t('unpin')}
                </Button>
              ) : (
                <>
                  <Button
                    tone="plain"
                    size="small"
                    aria-disabled={isGoing}
                    onClick={() => !isGoing && begin(() => router.refresh())}
                  >
                    {t('refresh')}
                  </Button>
                  <Button tone="plain" size="small" onClick={() => void setFilters({ to: query.to })}>
                    {t('pin')}
                  </Button>
                </>
              )}
              <SavedViews page="audit" search={searchOf(filters)} />
              <ExportDialog query={query} />
            </div>
          </div>
          <Entries
            key={JSON.stringify(query)}
            query={query}
            first={first}
            isNarrowed={isAuditFiltered(filters)}
            onOnly={(only) => void setFilters({ ...noAuditFilters, to: filters.to, reads: filters.reads, ...only })}
          />
        </>
      )}
    </div>
  )
}

/** Downloads the entries of the view or of a month. The form is loaded when it is opened. */
function ExportDialog({ query }: { query: AuditQuery & { to: string } }) {
  const t = useTranslations('audit.export')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(exportForm, isOpen)
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        {t('button')}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('title')} lead={t('text')}>
        {loaded && <loaded.ExportForm query={query} onDone={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}

/** Names of the actor and the resource in the filters: every shown entry has them. */
const namesIn = (acts: readonly ListedAct[], { agent_id, resource_id }: AuditBrowserFilters) => {
  const entries = acts.flatMap(({ parts }) => parts.map(({ entry }) => entry))
  return {
    actor: entries.find(({ agentId }) => agentId === agent_id)?.actorName ?? null,
    resource: entries.find(({ resourceId }) => resourceId === resource_id)?.resourceName ?? null,
  }
}

interface SummaryProps {
  first: AuditPage
  to: string
  hasReads: boolean
  /** Undefined if only reads are shown. */
  onReads: ((reads: 'true' | null) => void) | undefined
}
/** The number of entries, up to when, and whether reads are among them, with the switch for these. */
function Summary({ first, to, hasReads, onReads }: SummaryProps) {
  const t = useTranslations('audit.summary')
  const filters = useTranslations('audit.filters')
  const { total: count, counted, total_estimate: estimate } = first
  const number =
    counted === 'exact'
      ? t('exact', { count })
      : estimate === null
        ? t('more', { count })
        : t('about', { count: rounded(estimate) })
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-2 text-quiet">
      <span>
        {number} · {t.rich('upTo', { time: () => <Time at={to} /> })}
        {!hasReads && ` · ${t('reads')}`}
      </span>
      {onReads && (
        <Button tone="plain" size="small" onClick={() => onReads(hasReads ? null : 'true')}>
          {filters(hasReads ? 'hideReads' : 'reads')}
        </Button>
      )}
    </p>
  )
}

/** The act in the address: its first entry. */
const actKey = ({ parts: [first] }: ListedAct): string => (first ? entryKey(first.entry) : '')

interface EntriesProps {
  query: AuditQuery
  first: AuditPage
  isNarrowed: boolean
  onOnly: (filters: Partial<Record<'agent_id' | 'resource_type' | 'resource_id', string>>) => void
}

function Entries({ query, first, isNarrowed, onOnly }: EntriesProps) {
  const t = useTranslations('audit')
  const rows = useLoaded(scroller, true)
  const [view, state] = useEntryWindow(query, first)
  const [open, setOpen] = useQueryState('entry', { history: 'push' })
  const loaded = useLoaded(drawer, open !== null)
  const [known, setKnown] = useState<ListedAct>()
  const show = (index: number) => {
    const act = view.rowAt(index)
    if (!act) return
    setKnown(act)
    void setOpen(actKey(act))
  }
  const { cursor, setCursor } = useRowKeys({ count: state.count, onOpen: show })
  // While the drawer is open, keys move it from entry to entry. An entry outside these rows stays open until a key is pressed.
  const atHand = view.rowAt(cursor)
  const openNow = useRef(open)
  useEffect(() => {
    openNow.current = open
  })
  useEffect(() => {
    if (openNow.current === null || !atHand || openNow.current === actKey(atHand)) return
    setKnown(atHand)
    void setOpen(actKey(atHand), { history: 'replace' })
  }, [atHand, setOpen])
  const opened = open === null ? undefined : auditEntryOf(open)
  const isNone = state.isWhole && state.count === 0
  const openRow = (index: number) => {
    setCursor(index)
    show(index)
  }

  return (
    <div className="grid gap-2">
      {isNone ? (
        <EmptyState title={t('empty.title')}>
          <p>{isNarrowed ? t('empty.text') : t('empty.wholeText')}</p>
        </EmptyState>
      ) : rows ? (
        <rows.EntryRows
          view={view}
          count={state.count}
          isWhole={state.isWhole}
          cursor={cursor}
          opened={opened?.id ?? null}
          onOpen={openRow}
        />
      ) : (
        <FirstRows acts={first.data} onOpen={openRow} />
      )}
      {state.problem &&
        (state.problem.problem.code === 'rate_limited' ? (
          <p role="status" className="text-sm text-amber">
            {t('waiting', { seconds: Math.min(state.problem.retryAfter ?? 10, 60) })}
          </p>
        ) : (
          <ProblemAlert
            problem={{ ...state.problem.problem, retry: { again: view.goOn, isAsking: state.isLoading } }}
          />
        ))}
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2 text-sm text-quiet">
        <p role="status" data-known={state.count}>
          {state.isLoading
            ? t('loading')
            : state.isWhole
              ? state.count > 0 && t('allLoaded', { count: state.count })
              : t('loaded', { count: state.count })}
          {state.reached !== null && <> · {t.rich('searched', { time: () => <Time at={state.reached ?? ''} /> })}</>}
        </p>
        {state.empty > 0 && !state.isLoading && !state.isWhole && (
          <Button tone="plain" size="small" onClick={view.goOn}>
            {t('searchOn')}
          </Button>
        )}
        <p className="max-sm:hidden">
          {t.rich('keysHint', { k: (key) => <kbd className="font-mono text-ink">{key}</kbd> })}
        </p>
      </div>
      {loaded && (
        <loaded.AuditEntryDrawer
          entryKey={open}
          known={known && opened && known.parts.some(({ entry }) => entry.id === opened.id) ? known : undefined}
          onClose={() => void setOpen(null)}
          onOnly={(only) => {
            void setOpen(null)
            onOnly(only)
          }}
        />
      )}
    </div>
  )
}
