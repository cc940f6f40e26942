import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'

/** Three commands that lead a new user to a verified receipt. */
export function FirstSteps({ url, isDefault }: { url: string; isDefault: boolean }) {
  const t = useTranslations('home.steps')
  const kp = 'npm run --silent kp --'
  const steps = [
    { name: 'register', code: `${kp} register${isDefault ? '' : ` --url ${url}`}` },
    { name: 'contribute', code: `${kp} contribute docs/examples/trace.json` },
    { name: 'erase', code: `${kp} delete kp:trace:… \\\n  --output receipt.json\n${kp} receipts verify receipt.json` },
  ] as const
  return (
    <ol className="grid gap-4">
      {steps.map(({ name, code }, index) => (
        <li key={name} className="grid gap-1.5">
          <p>
            <span className="text-quiet tabular-nums">{index + 1}. </span>
            {t(name)}
          </p>
          <CodeBlock code={code} what={t('command', { number: index + 1 })} />
        </li>
      ))}
    </ol>
  )
}
