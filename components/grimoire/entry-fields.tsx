'use client'

import { useTranslations } from 'next-intl'
import { Choice, CodeField, Field, Select, TextArea } from '#components/ui/field.tsx'
import { shownEntryKinds } from './endpoints.ts'
import type { Draft, Wrong } from './entry-draft.ts'

interface DraftProps {
  draft: Draft
  change: (changes: Partial<Draft>) => void
}

/** Visibility and kind of a new entry; those of a stored one cannot change. */
function KindFields({ draft: { scope, kind }, change, isOpen }: DraftProps & { isOpen: boolean }) {
  const t = useTranslations('agentGrimoire')
  return (
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
            text: t(isOpen ? 'write.private' : 'write.privateLocked'),
            isDisabled: !isOpen,
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
        onChange={({ target }) => change({ kind: shownEntryKinds.find((one) => one === target.value) ?? 'insight' })}
      />
    </>
  )
}

/** Where the entry comes from, and since when it is valid. */
function SourceFields({
  draft,
  change,
  faultOf,
}: DraftProps & { faultOf: (field: Wrong, text: string) => string | undefined }) {
  const t = useTranslations('agentGrimoire')
  return (
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
        <CodeField
          label={t('entry.parents')}
          hint={t('write.parentsHint')}
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
  )
}

interface EntryFieldsProps extends DraftProps {
  isNew: boolean
  /** Whether the grimoire is unlocked. */
  isOpen: boolean
  isWrong: (field: Wrong) => boolean
}

/** The fields of an entry. */
export function EntryFields({ draft, change, isNew, isOpen, isWrong }: EntryFieldsProps) {
  const t = useTranslations('agentGrimoire')
  const common = useTranslations('common')
  const faultOf = (field: Wrong, text: string) => (isWrong(field) ? text : undefined)
  return (
    <>
      {isNew && <KindFields draft={draft} change={change} isOpen={isOpen} />}
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
          hint={t(draft.scope === 'clade' ? 'write.confidenceNeeded' : 'write.confidenceHint')}
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
      <SourceFields draft={draft} change={change} faultOf={faultOf} />
    </>
  )
}
