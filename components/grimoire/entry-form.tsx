'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { MovedAlert } from '#components/ui/moved-alert.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { addEntryAt, editEntryAt, entryAt, grimoirePaths } from './endpoints.ts'
import { type Draft, type EditedEntry, readDraft, type Wrong } from './entry-draft.ts'
import { EntryFields } from './entry-fields.tsx'
import { type EntryRequest, requestOf } from './entry-request.ts'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { VaultCode } from './vault-protocol.ts'

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
  const sealed = useRef<{ of: string; sent: EntryRequest }>(undefined)
  const add = useApiMutation(addEntryAt, { touches: grimoirePaths })
  const edit = useApiMutation(editEntryAt, { touches: grimoirePaths })

  const { scope, kind } = draft
  const { entry, wrong } = readDraft(draft, edited, zone, Date.now())
  const isWrong = (where: Wrong) => isChecked && wrong.has(where)
  const isPending = isSealing || add.isPending || edit.isPending
  const problem = add.problem ?? edit.problem
  const now = useApiQuery(
    entryAt,
    { params: { id: agentId, entryId: edited?.entry.id ?? '' } },
    { enabled: edited !== undefined && edit.problem?.code === 'conflict' },
  )
  const stored = edit.problem?.code === 'conflict' ? now.data?.data.revision : undefined
  const moved = stored !== undefined && stored !== edited?.entry.revision ? stored : undefined

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isPending || moved !== undefined) return
    setChecked(true)
    setFault(undefined)
    const of = JSON.stringify([draft, edited?.entry.revision])
    setSealing(true)
    try {
      if (sealed.current?.of !== of) {
        const sent = await requestOf({ draft, edited, entry, agentId, vault })
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
    <Drawer
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
        <EntryFields draft={draft} change={change} isNew={!edited} isOpen={vault.isOpen} isWrong={isWrong} />
        <DialogFooter>
          <Button tone="plain" onClick={onClose} aria-disabled={isPending}>
            {common('cancel')}
          </Button>
          <Button type="submit" aria-disabled={isPending || moved !== undefined}>
            {isPending ? common('busy') : t(`write.do.${scope}`)}
          </Button>
        </DialogFooter>
      </form>
    </Drawer>
  )
}
