import { clsx } from 'clsx'
import { Check } from 'lucide-react'
import { useTranslations } from 'next-intl'

interface StepperProps {
  /** What the steps do: "Delete my data". */
  label: string
  steps: readonly { key: string; title: string }[]
  /** The key of the current step. */
  current: string
  /** All steps are completed, the current one too. */
  isDone?: boolean
}

/** The steps of a flow: completed, current and coming. It stays at the top while the page scrolls. */
export function Stepper({ label, steps, current, isDone = false }: StepperProps) {
  const t = useTranslations('common.steps')
  const at = steps.findIndex(({ key }) => key === current)
  return (
    <nav aria-label={label} className="sticky top-12 z-10 border-b border-line bg-paper py-2">
      <ol className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {steps.map(({ key, title }, index) => {
          const isCompleted = isDone || index < at
          const isCurrent = !isDone && index === at
          return (
            <li
              key={key}
              aria-current={isCurrent ? 'step' : undefined}
              className={clsx('flex items-center gap-2', isCurrent ? 'font-medium' : 'text-quiet')}
            >
              <span
                aria-hidden
                className={clsx(
                  'inline-flex size-6 items-center justify-center rounded-full border text-[0.8125rem] tabular-nums',
                  isCompleted && 'border-green bg-green-wash text-green',
                  isCurrent && 'border-accent bg-accent text-on-accent',
                  !isCompleted && !isCurrent && 'border-edge',
                )}
              >
                {isCompleted ? <Check className="size-3.5" /> : index + 1}
              </span>
              <span className={isCurrent ? undefined : 'max-sm:sr-only'}>{title}</span>
              {isCompleted && <span className="sr-only">{t('completed')}</span>}
            </li>
          )
        })}
      </ol>
      <p className="sr-only">{t('position', { at: Math.max(at + 1, 1), total: steps.length })}</p>
    </nav>
  )
}
