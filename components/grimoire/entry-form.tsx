'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/dialog.tsx'
import { Choice, Field, Select, TextArea } from '#components/ui/field.tsx'
import { MovedAlert } from '#components/ui/moved-alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { RequestInput } from '#lib/client/request.ts'
import type { addEntry, editEntry } from '#lib/domains/grimoire/contract.ts'
import { addEntryAt, editEntryAt, entryAt, grimoirePaths, shownEntryKinds } from './endpoints.ts'
import { type Draft, type EditedEntry, readDraft, type Wrong } from './entry-draft.ts'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { VaultCode } from './vault-protocol.ts'

type Sent = { add: RequestInput<typeof addEntry> } | { edit: RequestInput<typeof editEntry> }
interface EntryFormProps {
  agentId: string
  vault: OpenVault
  /** The entry that is edited; undefined for a new entry. */
  edited?: EditedEntry
  draft: Draft
  change: (changes: Partial<Draft>) => void
  onClose: () => void
  onStored: (draft: Pick<Draft, 'kind' | 'scope'>) => void
  /** For an entry that somebody else changed meanwhile: saves over that revision, or discards the edit. */
  onMoved?: { goOn: (revision: number) => void; drop: () => void }
}

/** Creates or edits an entry. A private entry is sealed in the browser, so the server never receives readable content. */
export function EntryForm({ agentId, vault, edited, draft, change, onClose, onStored, onMoved }: EntryFormProps) {
  const t = useTranslations('agentGrimoire')
  const common = useTranslations('common')
  const zone = useTimeZone() ?? 'UTC'
  const [isChecked, setChecked] = useState(false)
  const [isSealing, setSealing] = useState(false)
  const [fault, setFault] = useState<VaultCode>()
  // Sealed once: a retry after a lost response sends the identical body, so the entry is stored only once.
  const sealed = useRef<{ of: string; sent: Sent }>(undefined)
  const add = useApiMutation(addEntryAt, { touches: grimoirePaths })
  const edit = useApiMutation(editEntryAt, { touches: grimoirePaths })

  const { scope, kind } = draft
  const { entry, wrong } = readDraft(draft, edited, zone, Date.now())
  const faultOf = (where: Wrong, text: string) => (isChecked && wrong.has(where) ? text : undefined)
  const isPending = isSealing || add.isPending || edit.isPending
  const problem = add.problem ?? edit.problem
  const now = useApiQuery(
    entryAt,
    { params: { id: agentId, entryId: edited?.entry.id ?? '' } },
    { enabled: edited !== undefined && edit.problem?.code === 'conflict' },
  )
  const stored = edit.problem?.code === 'conflict' ? now.data?.data.revision : undefined
  const moved = stored !== undefined && stored !== edited?.entry.revision ? stored : undefined

  async function sentOf(): Promise<Sent | undefined> {
    if (!entry) return undefined
    const { valid_from, valid_until, confidence, ...rest } = entry
    const ends = valid_until === null ? {} : { valid_until }
    const at = edited && { id: edited.entry.agent_id, entryId: edited.entry.id }
    const read = edited && { revision: edited.entry.revision }
    const params = { id: agentId }
    if (scope === 'private') {
      const { id, envelope } = await vault.ask('write', {
        ...{ agent: at?.id ?? agentId, kind, entry },
        ...(at && { id: at.entryId }),
      })
      return at && read
        ? { edit: { params: at, body: { scope, ...read, envelope, ...ends } } }
        : { add: { params, body: { scope, id, kind, envelope, ...ends } } }
    }
    if (confidence === null || kind === 'episode') return undefined
    const lists = { tags: [...rest.tags], parents: [...rest.parents] }
    const body = { ...rest, ...lists, scope, confidence, ...(valid_from !== null && { valid_from }), ...ends }
    return at && read
      ? { edit: { params: at, body: { ...body, ...read } } }
      : { add: { params, body: { ...body, kind } } }
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isPending || moved !== undefined) return
    setChecked(true)
    setFault(undefined)
    const of = JSON.stringify([draft, edited?.entry.revision])
    setSealing(true)
    try {
      if (sealed.current?.of !== of) {
        const sent = await sentOf()
        sealed.current = sent && { of, sent }
      }
      const stored = () => onStored({ kind, scope })
      const sent = sealed.current?.sent
      if (sent && 'add' in sent) add.begin(sent.add, stored)
      else if (sent) edit.begin(sent.edit, stored)
    } catch (error) {
      setFault(vaultCode(error))
    } finally {
      setSealing(false)
    }
  }
  return (
    <Sheet
      open
      onOpenChange={(isOpen) => !isOpen && !isPending && onClose()}
      title={t(edited ? 'change.title' : 'write.title')}
      lead={<p>{t(`${edited ? 'change' : 'write'}.lead.${scope}`)}</p>}
    >
      <form method="post" onSubmit={submit} data-form={edited ? 'change-entry' : 'write-entry'} className="grid gap-4">
        {fault && <VaultFault code={fault} />}
        {moved !== undefined && onMoved ? (
          <MovedAlert
            title={t('change.moved')}
            text={t('change.movedText')}
            keep={{
              label: t('change.keepMine'),
              do: () => {
                edit.reset()
                onMoved.goOn(moved)
              },
            }}
            take={{ label: t('change.takeTheirs'), do: onMoved.drop }}
          />
        ) : (
          problem && <ProblemAlert problem={problem} />
        )}
        {!edited && (
          <>
            <Choice
              label={t('columns.scope')}
              name="scope"
              value={scope}
              onChange={(value) =>
                change({ scope: value, ...(value === 'clade' && kind === 'episode' && { kind: 'insight' as const }) })
              }
              options={[
                {
                  value: 'private',
                  title: t('scopes.private'),
                  text: t(vault.isOpen ? 'write.private' : 'write.privateLocked'),
                  isDisabled: !vault.isOpen,
                },
                { value: 'clade', title: t('scopes.clade'), text: t('write.clade') },
              ]}
            />
            <Select
              label={t('columns.kind')}
              name="kind"
              value={kind}
              hint={scope === 'clade' ? t('write.noEpisode') : t(`kindTexts.${kind}`)}
              options={shownEntryKinds
                .filter((one) => scope === 'private' || one !== 'episode')
                .map((one) => ({ value: one, title: t(`kinds.${one}`) }))}
              onChange={({ target }) =>
                change({ kind: shownEntryKinds.find((one) => one === target.value) ?? 'insight' })
              }
            />
          </>
        )}
        <TextArea
          label={t('write.content')}
          dir="auto"
          rows={6}
          autoComplete="off"
          value={draft.content}
          onChange={({ target }) => change({ content: target.value })}
          error={faultOf('content', common('faults.empty')) ?? faultOf('json', t('write.notJson'))}
          required
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t('columns.confidence')}
            hint={t(scope === 'clade' ? 'write.confidenceNeeded' : 'write.confidenceHint')}
            inputMode="decimal"
            autoComplete="off"
            value={draft.confidence}
            onChange={({ target }) => change({ confidence: target.value })}
            error={faultOf('confidence', t('write.confidenceWrong'))}
          />
          <Field
            label={t('columns.until')}
            hint={t('write.untilHint')}
            type="date"
            value={draft.until}
            onChange={({ target }) => change({ until: target.value })}
            error={faultOf('until', t('write.untilWrong'))}
          />
        </div>
        <Field
          label={t('columns.tags')}
          hint={t('write.tagsHint')}
          dir="auto"
          autoComplete="off"
          value={draft.tags}
          onChange={({ target }) => change({ tags: target.value })}
          error={faultOf('tags', t('write.tagsWrong'))}
        />
        <details open={draft.provenance !== '' || draft.parents !== '' || draft.from !== '' || undefined}>
          <summary className="cursor-pointer text-accent">{t('write.more')}</summary>
          <div className="mt-3 grid gap-4">
            <TextArea
              label={t('entry.provenance')}
              hint={t('write.provenanceHint')}
              dir="auto"
              rows={2}
              autoComplete="off"
              value={draft.provenance}
              onChange={({ target }) => change({ provenance: target.value })}
              error={faultOf('provenance', t('write.notJson'))}
            />
            <Field
              label={t('entry.parents')}
              hint={t('write.parentsHint')}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              className="font-mono"
              value={draft.parents}
              onChange={({ target }) => change({ parents: target.value })}
              error={faultOf('parents', t('write.parentsWrong'))}
            />
            <Field
              label={t('entry.from')}
              hint={t('write.fromHint')}
              type="date"
              value={draft.from}
              onChange={({ target }) => change({ from: target.value })}
              error={faultOf('from', t('write.fromWrong'))}
            />
          </div>
        </details>
        <div className="flex flex-wrap justify-end gap-2">
          <Button tone="plain" onClick={onClose} aria-disabled={isPending}>
            {common('cancel')}
          </Button>
          <Button type="submit" aria-disabled={isPending || moved !== undefined}>
            {isPending ? common('busy') : t(`write.do.${scope}`)}
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
