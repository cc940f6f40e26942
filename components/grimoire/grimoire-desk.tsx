'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { useQueryState, useQueryStates } from 'nuqs'
import { useEffect, useState } from 'react'
import type { agentHindranceOf } from '#components/agents/status-rules.ts'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Select } from '#components/ui/field.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { MoreButton } from '#components/ui/more-button.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
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
import { type Draft, emptyDraft, entryDraftOf } from './entry-draft.ts'
import { EntryList } from './entry-list.tsx'
import { KeyringStart } from './keyring-start.tsx'
import { OpenBar } from './open-bar.tsx'
import { UnlockForm } from './unlock-form.tsx'
import { useReadings } from './use-readings.ts'
import { type OpenVault, useVault } from './use-vault.ts'
import { VaultFault } from './vault-fault.tsx'

const drawer = () => import('./entry-drawer.tsx')
const form = () => import('./entry-form.tsx')

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
      <Keys agentId={agentId} isWritable={isWritable} keyring={keyring} vault={vault} />
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

interface KeysProps extends Pick<GrimoireDeskProps, 'agentId' | 'keyring'> {
  vault: OpenVault
  isWritable: boolean
}
function Keys({ agentId, isWritable, keyring, vault }: KeysProps) {
  const t = useTranslations('agentGrimoire')
  const [madeId, setMadeId] = useState<string>()
  const { isOpen, opened, lock } = vault
  const keyId = keyring?.keyring.key_id
  // The worker that made a keyring already holds its key: the grimoire opens once that same keyring is known to be stored.
  useEffect(() => {
    if (madeId === undefined || keyId === undefined) return
    if (madeId === keyId) {
      setMadeId(undefined)
      opened('passphrase')
    } else lock()
  }, [madeId, keyId, opened, lock])
  if (!keyring)
    return (
      <Section id="keys" title={t('start.title')}>
        {isWritable ? (
          <KeyringStart agentId={agentId} vault={vault} onMade={setMadeId} />
        ) : (
          <p className="text-quiet">{t('start.hindered')}</p>
        )}
      </Section>
    )
  return (
    <Section
      id="keys"
      title={t(isOpen ? 'open.section' : 'unlock.section')}
      lead={isOpen ? undefined : t('unlock.lead')}
    >
      {madeId !== undefined && madeId !== keyId && <Alert tone="danger" title={t('start.other')} isLive />}
      {isOpen ? (
        <OpenBar keyring={keyring} vault={vault} isWritable={isWritable} />
      ) : (
        <UnlockForm keyring={keyring.keyring} vault={vault} />
      )}
    </Section>
  )
}

interface EntriesProps extends Pick<GrimoireDeskProps, 'agentId' | 'isElsewhere' | 'initial' | 'initialFilters'> {
  vault: OpenVault
  hasKeyring: boolean
  isWritable: boolean
  mayDelete: boolean
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
  const [removing, setRemoving] = useState<GrimoireEntry>()
  const removal = useApiMutation(deleteEntryAt, { touches: grimoirePaths })
  const { cursor } = useRowKeys({
    count: list.rows.length,
    onOpen: (index) => void setShown(list.rows[index]?.id ?? null),
  })
  const isNarrowed = filters.kind !== null || filters.scope !== null
  return (
    <Section id="entries" title={t('list.title')}>
      <Writing agentId={agentId} vault={vault} isWritable={isWritable} />
      {isWritable && <Changing agentId={agentId} vault={vault} change={change} set={setChange} />}
      <search aria-label={t('list.filters')} className="grid gap-3 sm:grid-cols-2">
        <Select
          data-filter
          label={t('columns.kind')}
          name="kind"
          value={filters.kind ?? ''}
          options={[
            { value: '', title: t('list.anyKind') },
            ...shownEntryKinds.map((kind) => ({ value: kind, title: t(`kinds.${kind}`) })),
          ]}
          onChange={({ target }) =>
            void setFilters({ kind: shownEntryKinds.find((kind) => kind === target.value) ?? null })
          }
        />
        <Select
          label={t('columns.scope')}
          name="scope"
          value={filters.scope ?? ''}
          options={[
            { value: '', title: t('list.anyScope') },
            ...shownEntryScopes.map((scope) => ({ value: scope, title: t(`scopes.${scope}`) })),
          ]}
          onChange={({ target }) =>
            void setFilters({ scope: shownEntryScopes.find((scope) => scope === target.value) ?? null })
          }
        />
      </search>
      {fault && <VaultFault code={fault} />}
      {list.isLoading ? (
        <Skeleton className="h-40" />
      ) : list.rows.length === 0 && !list.problem ? (
        <Empty
          title={t(isNarrowed ? 'list.noneFound' : 'list.none')}
          action={
            isNarrowed && (
              <Button tone="plain" size="small" onClick={() => void setFilters({ kind: null, scope: null })}>
                {t('list.clear')}
              </Button>
            )
          }
        >
          {!isNarrowed && !isElsewhere && <p>{t(hasKeyring ? 'list.noneText' : 'list.noneYet')}</p>}
        </Empty>
      ) : (
        <div className="grid gap-3">
          <EntryList
            rows={list.rows}
            cursor={cursor}
            isOpen={vault.isOpen}
            readingOf={readingOf}
            onOpen={(id) => void setShown(id)}
          />
          <MoreButton pages={list} />
        </div>
      )}
      {list.rows.length === 0 && list.problem && <ProblemAlert problem={list.problem} />}
      {removal.isSuccess && <Alert tone="done" title={t('remove.done')} isLive />}
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
            onDelete: (entry: GrimoireEntry) => {
              removal.reset()
              void setShown(null)
              setRemoving(entry)
            },
          })}
        />
      )}
      <Confirm
        open={removing !== undefined}
        onOpenChange={(open) => {
          if (!open) setRemoving(undefined)
        }}
        title={t('remove.ask')}
        consequences={
          <>
            <p>{t('remove.text')}</p>
            <p>{t('remove.shared')}</p>
            <p className="font-mono text-[0.8125rem]">{removing?.id}</p>
          </>
        }
        action={t('remove.do')}
        change={removal}
        onConfirm={() => {
          if (removing) removal.begin({ params: { id: agentId, entryId: removing.id } }, () => setRemoving(undefined))
        }}
      />
    </Section>
  )
}

/** The button and form for a new entry. Typed text survives while the page is open, even when the grimoire locks meanwhile. */
function Writing({ agentId, vault, isWritable }: Pick<EntriesProps, 'agentId' | 'vault' | 'isWritable'>) {
  const t = useTranslations('agentGrimoire')
  const [isWriting, setWriting] = useState(false)
  const [draft, setDraft] = useState<Draft>()
  const [added, setAdded] = useState<Pick<Draft, 'kind' | 'scope'>>()
  const loaded = useLoaded(form, isWriting)
  const { isOpen } = vault
  const isPrivate = draft?.scope === 'private'
  // Hide private text once the grimoire locks, because the user may have left the screen.
  useEffect(() => {
    if (!isOpen && isPrivate) setWriting(false)
  }, [isOpen, isPrivate])
  if (!isWritable) return null
  const shown = draft ?? { ...emptyDraft, scope: isOpen ? ('private' as const) : ('clade' as const) }
  const isKept = !isWriting && draft !== undefined && draft.content.trim() !== ''
  return (
    <div className="grid justify-items-start gap-3">
      {added && <Alert tone="done" title={t(`write.done.${added.scope}`, { kind: t(`kinds.${added.kind}`) })} isLive />}
      {isKept && (
        <p role="status" className="text-quiet">
          {t(isPrivate && !isOpen ? 'write.keptLocked' : 'write.keptOpen')}
        </p>
      )}
      <Button
        tone={isOpen ? 'main' : 'plain'}
        onClick={() => {
          setAdded(undefined)
          // A private draft needs the key first.
          if (isPrivate && !isOpen) document.querySelector<HTMLElement>('[data-unlock]')?.focus()
          else setWriting(true)
        }}
      >
        {t(isKept ? 'write.goOn' : 'write.open')}
      </Button>
      {isWriting && loaded && (
        <loaded.EntryForm
          agentId={agentId}
          vault={vault}
          draft={shown}
          change={(changes) => setDraft((before) => ({ ...(before ?? shown), ...changes }))}
          onClose={() => setWriting(false)}
          onStored={(written) => {
            setDraft(undefined)
            setAdded(written)
            setWriting(false)
          }}
        />
      )}
    </div>
  )
}
