'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Select } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { emailDeliveries } from '#lib/domains/accounts/email-choices/rules.ts'
import { chooseEmailAt, type EmailChoices, emailChoicesAt } from './endpoints.ts'

function ChoiceRow({ choice }: { choice: EmailChoices['data'][number] }) {
  const t = useTranslations('emails')
  const choosing = useApiMutation(chooseEmailAt, { touches: [emailChoicesAt.path] })
  const { kind, delivery, choices, is_only_receiver: isOnlyReceiver } = choice
  const isOnlyOne = choosing.problem?.code === 'conflict'
  return (
    <li className="grid gap-3 px-4 py-3">
      <Select
        label={t(`kinds.${kind}.name`)}
        hint={isOnlyReceiver ? `${t(`kinds.${kind}.text`)} ${t('onlyReceiver')}` : t(`kinds.${kind}.text`)}
        value={delivery}
        options={choices.map((value) => ({ value, title: t(`deliveries.${value}`) }))}
        disabled={choosing.isPending}
        onChange={({ currentTarget }) => {
          const chosen = emailDeliveries.find((one) => one === currentTarget.value)
          if (chosen) choosing.begin({ params: { kind }, body: { delivery: chosen } }, () => {})
        }}
        className="max-w-56"
      />
      {isOnlyOne && <Alert tone="warning" title={t('onlyReceiverTitle')} isLive />}
      {choosing.problem && !isOnlyOne && <ProblemAlert problem={choosing.problem} />}
    </li>
  )
}

/** The emails that the signed-in person can turn off. */
export function EmailChoiceList({ initial }: { initial: EmailChoices }) {
  const t = useTranslations('emails')
  const query = useApiQuery(emailChoicesAt, {}, { initial })
  return (
    <div className="grid gap-3">
      {query.problem && <ProblemAlert problem={query.problem} />}
      <ul className="divide-y divide-line rounded-box border border-line bg-raised">
        {(query.data ?? initial).data.map((choice) => (
          <ChoiceRow key={choice.kind} choice={choice} />
        ))}
      </ul>
      <p className="text-sm text-quiet">{t('always')}</p>
    </div>
  )
}
