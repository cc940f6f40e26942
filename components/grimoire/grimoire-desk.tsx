'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { useState } from 'react'
import type { agentHindranceOf } from '#components/agents/status-rules.ts'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useQueryState, useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { NoMatch } from '#components/ui/no-match.tsx'
import { Section } from '#components/ui/page.tsx'
import {
  deleteEntryAt,
  type EntryFilters,
  type EntryPage,
  entriesAt,
  entryFilterParsers,
  entryQueryOf,
  type GrimoireEntry,
  grimoirePaths,
  type ReadableContent,
  type StoredKeyring,
  shownEntryKinds,
  shownEntryScopes,
} from './endpoints.ts'
import { Changing, type EntryEdit } from './entry-change.tsx'
import { entryDraftOf } from './entry-draft.ts'
import { EntryList } from './entry-list.tsx'
import { EntryWriting } from './entry-writing.tsx'
import { KeyringSection } from './keyring-section.tsx'
import { useReadings } from './use-readings.ts'
import { type OpenVault, useVault } from './use-vault.ts'
import { VaultFault } from './vault-fault.tsx'

const drawer = () => import('./entry-drawer.tsx')
const noFilters = { kind: null, scope: null }

interface GrimoireDeskProps {
  agentId: string
  /** Why nothing can be written for the agent now. Reading and deleting still work. */
  hindrance: ReturnType<typeof agentHindranceOf>
  /** The agent stores its memory on its own host, so nothing is written here. */
  isElsewhere: boolean
  /** False for read-only roles, which may not delete either. */
  mayWrite: boolean
  keyring: StoredKeyring | null
  initial: EntryPage
  /** The filters for which the server rendered `initial`. */
  initialFilters: EntryFilters
}

/** The grimoire of an agent: its keys, which are opened only in this browser, and its entries. */
export function GrimoireDesk({
  agentId,
  hindrance,
  isElsewhere,
  mayWrite,
  keyring,
  initial,
  initialFilters,
}: GrimoireDeskProps) {
  const t = useTranslations('agentGrimoire')
  const hindrances = useTranslations('agents.hindrances')
  const vault = useVault()
  const isWritable = mayWrite && hindrance === undefined
  return (
    <>
      {hindrance && hindrance !== 'selfHosted' && mayWrite && (
        <Alert tone="warning" title={hindrances(hindrance)}>
          <p>{t('hindered')}</p>
        </Alert>
      )}
      <KeyringSection agentId={agentId} isWritable={isWritable} keyring={keyring} vault={vault} />
      <Entries
        agentId={agentId}
        vault={vault}
        hasKeyring={keyring !== null}
        isElsewhere={isElsewhere}
        isWritable={isWritable}
        mayDelete={mayWrite}
        initial={initial}
        initialFilters={initialFilters}
      />
    </>
  )
}

interface EntriesProps extends Pick<GrimoireDeskProps, 'agentId' | 'isElsewhere' | 'initial' | 'initialFilters'> {
  vault: OpenVault
  hasKeyring: boolean
  isWritable: boolean
  mayDelete: boolean
}
function EntryFilterBar({
  filters,
  set,
}: {
  filters: EntryFilters
  set: (changes: { [K in keyof EntryFilters]?: EntryFilters[K] | null }) => void
}) {
  const t = useTranslations('agentGrimoire')
  return (
    <FilterBar
      facets={[
        {
          key: 'kind',
          title: t('columns.kind'),
          value: filters.kind === null ? [] : [filters.kind],
          options: shownEntryKinds.map((value) => ({ value, title: t(`kinds.${value}`) })),
          onChange: ([value]) => set({ kind: shownEntryKinds.find((kind) => kind === value) ?? null }),
        },
        {
          key: 'scope',
          title: t('columns.scope'),
          value: filters.scope === null ? [] : [filters.scope],
          options: shownEntryScopes.map((value) => ({ value, title: t(`scopes.${value}`) })),
          onChange: ([value]) => set({ scope: shownEntryScopes.find((scope) => scope === value) ?? null }),
        },
      ]}
      isFiltered={filters.kind !== null || filters.scope !== null}
      onClear={() => set(noFilters)}
    />
  )
}

interface RemoveEntryProps {
  agentId: string
  entryId: string
  onClose: () => void
  onDone: () => void
}
function RemoveEntry({ agentId, entryId, onClose, onDone }: RemoveEntryProps) {
  const t = useTranslations('agentGrimoire.remove')
  const removal = useApiMutation(deleteEntryAt, { touches: grimoirePaths })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('ask')}
      consequences={
        <>
          <p>{t('text')}</p>
          <p>{t('shared')}</p>
          <p className="font-mono text-[0.8125rem]">{entryId}</p>
        </>
      }
      action={t('do')}
      change={removal}
      onConfirm={() => removal.begin({ params: { id: agentId, entryId } }, onDone)}
    />
  )
}

function Entries({
  agentId,
  vault,
  hasKeyring,
  isElsewhere,
  isWritable,
  mayDelete,
  initial,
  initialFilters,
}: EntriesProps) {
  const t = useTranslations('agentGrimoire')
  const [filters, setFilters] = useQueryStates(entryFilterParsers)
  const query = entryQueryOf(filters)
  const isInitial = JSON.stringify(query) === JSON.stringify(entryQueryOf(initialFilters))
  const list = useApiInfiniteQuery(
    entriesAt,
    { params: { id: agentId }, query },
    { initial: isInitial ? initial : undefined },
  )
  const { readingOf, fault } = useReadings(vault, list.rows)
  const [shown, setShown] = useQueryState('entry', { history: 'push' })
  const loadedDrawer = useLoaded(drawer, shown !== null)
  const zone = useTimeZone() ?? 'UTC'
  const [change, setChange] = useState<EntryEdit>()
  const [removing, setRemoving] = useState<string>()
  const [isRemoved, setRemoved] = useState(false)
  const { cursor } = useRowKeys({
    count: list.rows.length,
    onOpen: (index) => void setShown(list.rows[index]?.id ?? null),
  })
  const isNarrowed = filters.kind !== null || filters.scope !== null
  return (
    <Section id="entries" title={t('list.title')}>
      <EntryWriting agentId={agentId} vault={vault} isWritable={isWritable} />
      {isWritable && <Changing agentId={agentId} vault={vault} change={change} set={setChange} />}
      {fault && <VaultFault code={fault} />}
      <EntryList
        pages={list}
        cursor={cursor}
        isOpen={vault.isOpen}
        readingOf={readingOf}
        onOpen={(id) => void setShown(id)}
        toolbar={<EntryFilterBar filters={filters} set={(changes) => void setFilters(changes)} />}
        empty={
          isNarrowed ? (
            <NoMatch title={t('list.noneFound')} onClear={() => void setFilters(noFilters)} />
          ) : (
            <EmptyState title={t('list.none')}>
              {!isElsewhere && <p>{t(hasKeyring ? 'list.noneText' : 'list.noneYet')}</p>}
            </EmptyState>
          )
        }
      />
      {isRemoved && <Alert tone="done" title={t('remove.done')} isLive />}
      {shown !== null && loadedDrawer && (
        <loadedDrawer.GrimoireEntryDrawer
          key={shown}
          agentId={agentId}
          entryId={shown}
          known={list.rows.find(({ id }) => id === shown)}
          vault={vault}
          onClose={() => void setShown(null)}
          {...(isWritable && {
            onEdit: (entry: GrimoireEntry, said: ReadableContent) => {
              const first = entryDraftOf({ entry, said }, zone)
              void setShown(null)
              // Continue an earlier draft of the same entry.
              const isKept = change?.entry.id === entry.id
              setChange(isKept ? { ...change, isShown: true } : { entry, said, first, draft: first, isShown: true })
            },
          })}
          {...(mayDelete && {
            onDelete: ({ id }: GrimoireEntry) => {
              setRemoved(false)
              void setShown(null)
              setRemoving(id)
            },
          })}
        />
      )}
      {removing !== undefined && (
        <RemoveEntry
          agentId={agentId}
          entryId={removing}
          onClose={() => setRemoving(undefined)}
          onDone={() => {
            setRemoving(undefined)
            setRemoved(true)
          }}
        />
      )}
    </Section>
  )
}
