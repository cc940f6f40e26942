'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { endOf } from '#components/knowledge/days.ts'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/dialog.tsx'
import { Choice, Field, Select, TextArea } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { RequestParts } from '#lib/client/request.ts'
import type { addEntry } from '#lib/domains/grimoire/contract.ts'
import { addEntryAt, type Kind, kinds, type Scope, touched } from './places.ts'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { VaultCode } from './vault-protocol.ts'
import { confidenceIn, tagsIn } from './vault-rules.ts'

/** What is typed into the form. It is kept in the page's memory alone. */
export interface Draft {
  scope: Scope
  kind: Kind
  content: string
  confidence: string
  tags: string
  /** A day of the reader's. */
  until: string
}
export const emptyDraft: Draft = { scope: 'private', kind: 'insight', content: '', confidence: '', tags: '', until: '' }

type Sent = RequestParts<typeof addEntry>
interface EntryFormProps {
  agentId: string
  vault: OpenVault
  draft: Draft
  change: (changes: Partial<Draft>) => void
  onClose: () => void
  onAdded: (draft: Pick<Draft, 'kind' | 'scope'>) => void
}

/** Writes an entry: a private one is sealed in the browser, and what is sent cannot be read. */
export function EntryForm({ agentId, vault, draft, change, onClose, onAdded }: EntryFormProps) {
  const t = useTranslations('agentGrimoire')
  const common = useTranslations('common')
  const zone = useTimeZone() ?? 'UTC'
  const [isChecked, setChecked] = useState(false)
  const [isSealing, setSealing] = useState(false)
  const [fault, setFault] = useState<VaultCode>()
  // Sealed once: when no answer came, the very same is sent again, and stands there once.
  const sealed = useRef<{ of: string; parts: Sent }>(undefined)
  const add = useChange(addEntryAt, { touches: touched })

  const { scope, kind } = draft
  const content = draft.content.trim()
  const tags = tagsIn(draft.tags)
  const confidence = confidenceIn(draft.confidence)
  const isUnsure = confidence === undefined || (scope === 'clade' && confidence === null)
  const until = draft.until === '' ? null : endOf(draft.until, zone)
  const isPast = until === undefined || (until !== null && until.getTime() <= Date.now())
  const isPending = isSealing || add.isPending

  async function partsOf(): Promise<Sent | undefined> {
    if (content === '' || tags === undefined || confidence === undefined || until === undefined || isPast)
      return undefined
    const ends = until?.toISOString() ?? null
    const body = ends === null ? {} : { valid_until: ends }
    if (scope === 'clade') {
      if (confidence === null || kind === 'episode') return undefined
      return { params: { id: agentId }, body: { scope, kind, content, confidence, tags, ...body } }
    }
    const entry = { content, confidence, tags, provenance: null, parents: [], valid_from: null, valid_until: ends }
    const { id, envelope } = await vault.ask('write', { agent: agentId, kind, entry })
    return { params: { id: agentId }, body: { scope, id, kind, envelope, ...body } }
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (isPending) return
    setChecked(true)
    setFault(undefined)
    const of = JSON.stringify(draft)
    setSealing(true)
    try {
      if (sealed.current?.of !== of) {
        const parts = await partsOf()
        sealed.current = parts && { of, parts }
      }
      if (sealed.current) add.begin(sealed.current.parts, () => onAdded({ kind, scope }))
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
      title={t('write.title')}
      lead={<p>{t(`write.lead.${scope}`)}</p>}
    >
      <form method="post" onSubmit={submit} data-form="write-entry" className="grid gap-4">
        {fault && <VaultFault code={fault} />}
        {add.problem && <ProblemAlert problem={add.problem} />}
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
          options={kinds
            .filter((one) => scope === 'private' || one !== 'episode')
            .map((one) => ({ value: one, title: t(`kinds.${one}`) }))}
          onChange={({ target }) => change({ kind: kinds.find((one) => one === target.value) ?? 'insight' })}
        />
        <TextArea
          label={t('write.content')}
          name="content"
          dir="auto"
          rows={6}
          autoComplete="off"
          value={draft.content}
          onChange={({ target }) => change({ content: target.value })}
          error={isChecked && content === '' ? common('faults.empty') : undefined}
          required
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t('columns.confidence')}
            hint={t(scope === 'clade' ? 'write.confidenceNeeded' : 'write.confidenceHint')}
            name="confidence"
            inputMode="decimal"
            autoComplete="off"
            value={draft.confidence}
            onChange={({ target }) => change({ confidence: target.value })}
            error={isChecked && isUnsure ? t('write.confidenceWrong') : undefined}
          />
          <Field
            label={t('columns.until')}
            hint={t('write.untilHint')}
            name="until"
            type="date"
            value={draft.until}
            onChange={({ target }) => change({ until: target.value })}
            error={isChecked && isPast ? t('write.untilWrong') : undefined}
          />
        </div>
        <Field
          label={t('columns.tags')}
          hint={t('write.tagsHint')}
          name="tags"
          dir="auto"
          autoComplete="off"
          value={draft.tags}
          onChange={({ target }) => change({ tags: target.value })}
          error={isChecked && tags === undefined ? t('write.tagsWrong') : undefined}
        />
        <div className="flex flex-wrap justify-end gap-2">
          <Button tone="plain" onClick={onClose} aria-disabled={isPending}>
            {common('cancel')}
          </Button>
          <Button type="submit" aria-disabled={isPending}>
            {isPending ? common('busy') : t(`write.do.${scope}`)}
          </Button>
        </div>
      </form>
    </Sheet>
  )
}
