'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { agentPaths, settingsAt } from './agents.ts'

const most = 3650

interface RetentionDaysProps {
  agentId: string
  of: 'grimoire' | 'document'
  days: number | null
}

/** Days until grimoire entries, or theses and playbooks, are deleted; an empty field keeps them. */
export function RetentionDaysForm({ agentId, of, days }: RetentionDaysProps) {
  const t = useTranslations(`agents.one.settings.${of}`)
  const field = `${of}_days` as const
  const common = useTranslations('common')
  const [typed, setTyped] = useState(days === null ? '' : String(days))
  const [isWrong, setWrong] = useState(false)
  const change = useApiMutation(settingsAt, { touches: agentPaths })
  const { problem } = change
  const saved = change.data?.data[field]
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const text = typed.trim()
    const wanted = text === '' ? null : Number(text)
    const isRight = wanted === null || (Number.isInteger(wanted) && wanted >= 1 && wanted <= most)
    setWrong(!isRight)
    if (isRight) change.begin({ params: { id: agentId }, body: { [field]: wanted } })
  }
  return (
    <form method="post" onSubmit={submit} noValidate data-form={`${of}-days`} className="grid gap-3">
      {problem && <ProblemAlert problem={problem} />}
      {saved !== undefined && (
        <Alert tone="done" title={saved === null ? t('savedForEver') : t('savedDays', { days: saved })} isLive />
      )}
      <Field
        label={t('days')}
        hint={t('daysHint')}
        name={field}
        inputMode="numeric"
        autoComplete="off"
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setWrong(false)
        }}
        error={isWrong ? t('daysWrong', { most }) : undefined}
      />
      <Button type="submit" tone="plain" aria-disabled={change.isPending} className="justify-self-start">
        {change.isPending ? common('busy') : t('save')}
      </Button>
    </form>
  )
}
