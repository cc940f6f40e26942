'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import { Checkbox, TextArea } from '#components/ui/field.tsx'
import { type RequestKind, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { fileForMemberAt } from './endpoints.ts'

/** Files a privacy request for a member, who confirms it with a link in an email. `onDone` is called after filing. */
export function MemberFiling({
  member,
  onClose,
  onDone,
}: {
  member: { account_id: string; name: string }
  onClose: () => void
  onDone: () => void
}) {
  const t = useTranslations('members.filing')
  const [chosen, setChosen] = useState<readonly RequestKind[]>([])
  const { draft, change, clear } = useDraft(`file-for:${member.account_id}`, { statement: '' })
  const filing = useApiMutation(fileForMemberAt)
  const statement = draft.statement.trim()
  const isIncomplete = chosen.length === 0 || (chosen.includes('rectification') && statement === '')
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('title', { name: member.name })}
      consequences={<p>{t('lead')}</p>}
      action={t('submit')}
      tone="main"
      change={filing}
      isIncomplete={isIncomplete}
      onConfirm={() =>
        filing.begin(
          {
            body: {
              kinds: [...chosen],
              member: member.account_id,
              ...(statement !== '' && { statement }),
            },
          },
          () => {
            clear()
            onDone()
          },
        )
      }
    >
      <fieldset className="grid gap-2">
        <legend className="mb-2 font-medium">{t('kinds')}</legend>
        {requestKinds.map((kind) => (
          <Checkbox
            key={kind}
            label={t(`kind.${kind}`)}
            checked={chosen.includes(kind)}
            onChange={({ target }) =>
              setChosen(requestKinds.filter((one) => (one === kind ? target.checked : chosen.includes(one))))
            }
          />
        ))}
      </fieldset>
      <TextArea
        label={t('statement')}
        hint={t('statementHint')}
        maxLength={4_000}
        value={draft.statement}
        onChange={({ target }) => change({ statement: target.value })}
      />
    </Confirm>
  )
}
