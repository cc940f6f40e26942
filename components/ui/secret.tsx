import { useTranslations } from 'next-intl'
import { Alert } from './alert.tsx'
import { CodeBlock } from './code-block.tsx'

/** A secret that is shown once; `label` names it. */
export function Secret({ value, label }: { value: string; label: string }) {
  const t = useTranslations('common')
  return (
    <div className="grid gap-3">
      <Alert tone="warning" title={t('secretOnce')} isLive />
      <CodeBlock code={value} what={label} />
    </div>
  )
}
