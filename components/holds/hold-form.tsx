'use client'

import { useNow, useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { localTime } from '#components/queue/filing.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field, Select, TextArea } from '#components/ui/field.tsx'
import { type HoldKind, holdKinds } from '#lib/domains/holds/rules.ts'
import { createHoldAt, holdPaths } from './endpoints.ts'
import { type HoldTarget, TargetField } from './target-field.tsx'

type HoldDraft = { kind: HoldKind; targetId: string | null; target: string; reason: string; expires: string }
const empty: HoldDraft = { kind: 'agent', targetId: null, target: '', reason: '', expires: '' }
/** The person whom the address of the page names. */
const personDraft = (person: HoldTarget): HoldDraft => ({ ...empty, ...person, kind: 'account' })

interface HoldFormProps {
  person?: HoldTarget | undefined
  close: () => void
  done: () => void
}

/** Creates a legal hold and explains its effects. Typed text survives until the hold is created or its approval requested. */
export function HoldForm({ person, close, done }: HoldFormProps) {
  const t = useTranslations('holds.new')
  const kinds = useTranslations('holds.kinds')
  const now = useNow()
  const {
    draft,
    change: type,
    clear,
    isRestored,
  } = useDraft(`hold:${person?.targetId ?? ''}`, person ? personDraft(person) : empty)
  const change = useApiMutation(createHoldAt, { touches: holdPaths })
  const ends = localTime(draft.expires)
  const isPast = draft.expires !== '' && (!ends || ends <= now)
  const isIncomplete = draft.target.trim() === '' || draft.reason.trim() === '' || isPast
  const isUnknown = change.problem?.code === 'not_found' || change.problem?.code === 'invalid'
  const send = () => {
    const { kind, targetId, target, reason } = draft
    change.begin(
      { body: { kind, target_id: targetId ?? target.trim(), reason, ...(ends && { expires_at: ends.toISOString() }) } },
      () => {
        clear()
        done()
      },
      clear,
    )
  }
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t('title')}
      consequences={<p>{t('lead')}</p>}
      action={t('open')}
      needsApproval
      tone="main"
      change={{ ...change, problem: isUnknown ? undefined : change.problem }}
      isIncomplete={isIncomplete}
      onConfirm={send}
    >
      {isRestored && (
        <p role="status" className="flex flex-wrap items-center gap-3 text-sm text-quiet">
          {t('restored')}
          <Button tone="plain" size="small" onClick={clear}>
            {t('discard')}
          </Button>
        </p>
      )}
      <Select
        label={t('kind')}
        hint={t(`texts.${draft.kind}`)}
        value={draft.kind}
        options={holdKinds.map((value) => ({ value, title: kinds(value) }))}
        onChange={({ target }) => {
          const kind = holdKinds.find((one) => one === target.value)
          if (kind) type({ kind, targetId: null })
        }}
      />
      <TargetField
        kind={draft.kind}
        targetId={draft.targetId}
        target={draft.target}
        onChange={(target) => {
          type(target)
          change.reset()
        }}
        error={isUnknown ? t('notFound') : undefined}
      />
      <TextArea
        label={t('reason')}
        hint={t('reasonHint')}
        dir="auto"
        value={draft.reason}
        onChange={(event) => type({ reason: event.currentTarget.value })}
        maxLength={1_000}
        required
      />
      <Field
        label={t('expires')}
        hint={t('expiresHint')}
        type="datetime-local"
        value={draft.expires}
        onChange={(event) => type({ expires: event.currentTarget.value })}
        error={isPast ? t('expiresFault') : undefined}
        className="max-w-64"
      />
    </Confirm>
  )
}
