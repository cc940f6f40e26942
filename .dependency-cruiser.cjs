// Allowed dependencies between folders, as described in ARCHITECTURE.md.
const tests = '(\\.test\\.tsx?$|^lib/testing/|^lib/stores/[^/]+/suite/)'
/** The composition root, the platform and the operator's code. Of `lib/config/`, any module may import all but the store locations. */
const root = '((app|composition|platform|operator)/|config/locations\\.ts$|[^/]+\\.ts$)'
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: { pathNot: '^generated/' },
      to: { circular: true, viaOnly: { pathNot: '^generated/' } },
    },
    { name: 'nothing-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-drawers',
      severity: 'error',
      from: {},
      to: { path: '(^|/)(utils|helpers|misc|common)(/|\\.tsx?$)', pathNot: 'node_modules' },
    },
    { name: 'no-barrels', severity: 'error', from: {}, to: { path: '^(lib|components|bin)/.*/index\\.tsx?$' } },
    {
      name: 'kernel-knows-nobody',
      severity: 'error',
      from: { path: '^lib/kernel/', pathNot: tests },
      to: { path: '^(lib/(?!kernel/)|app/|bin/|components/|generated/)' },
    },
    {
      name: 'text-knows-nobody',
      severity: 'error',
      comment: 'it is pure and runs in browsers',
      from: { path: '^lib/text/', pathNot: tests },
      to: { path: '^(lib/(?!text/)|app/|bin/|components/|generated/)' },
    },
    {
      name: 'stores-and-jobs-know-the-kernel',
      severity: 'error',
      from: { path: '^lib/(stores|jobs)/', pathNot: tests },
      to: { path: `^lib/(domains|access|http|${root}|client)` },
    },
    {
      name: 'domains-look-down',
      severity: 'error',
      comment:
        'sealing is pure and the same everywhere: who seals to an owner in the server uses the code that opens it in the browser',
      from: { path: '^lib/domains/', pathNot: tests },
      to: {
        path: `^lib/(access|http|${root}|client/(?!sealing/))`,
      },
    },
    {
      name: 'domains-are-strangers',
      severity: 'error',
      comment:
        'any domain may import the queries of another, and the writes that run in the transaction of their caller. audit, sanitizer and pii may be used by any; the vocabulary of scopes and tiers is one file',
      from: { path: '^lib/domains/([^/]+)/', pathNot: tests },
      to: {
        path: '^lib/domains/',
        pathNot: [
          '^lib/domains/$1/',
          '^lib/domains/[^/]+/(queries|writes)\\.ts$',
          '^lib/domains/(audit|sanitizer|pii)/',
          '^lib/domains/tokens/rules\\.ts$',
        ],
      },
    },
    {
      name: 'rules-are-pure',
      severity: 'error',
      from: { path: '^lib/domains/[^/]+/rules\\.ts$' },
      to: {
        path: '^lib/',
        pathNot: [
          '^lib/kernel/',
          '^lib/domains/[^/]+/(contract|rules|unit)\\.ts$',
          '^lib/domains/[^/]+/[a-z]+-rules\\.ts$',
        ],
      },
    },
    {
      name: 'rules-run-in-browsers',
      severity: 'error',
      comment: 'pages import rules; a module of Node in one of them becomes a hundred kilobytes of substitutes',
      from: { path: '^lib/domains/.+[/-]rules\\.ts$' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'pure-domains',
      severity: 'error',
      from: { path: '^lib/domains/(sanitizer|pii)/', pathNot: tests },
      to: { path: '^(lib/(?!kernel/|text/|domains/(sanitizer|pii)/)|generated/)' },
    },
    {
      name: 'stripping-is-pure',
      severity: 'error',
      comment: 'the browser and the command line strip what is private before it leaves them',
      from: { path: '^lib/domains/clades/strip-[a-z]+\\.ts$', pathNot: tests },
      to: {
        path: '^(lib|generated)/',
        pathNot: ['^lib/kernel/', '^lib/domains/(sanitizer|pii)/', '^lib/domains/clades/strip-[a-z]+\\.ts$'],
      },
    },
    {
      name: 'access-below-http',
      severity: 'error',
      from: { path: '^lib/access/', pathNot: tests },
      to: { path: `^lib/(http|${root}|client)` },
    },
    {
      name: 'http-below-app',
      severity: 'error',
      from: { path: '^lib/http/', pathNot: tests },
      to: { path: `^lib/(${root}|client)` },
    },
    {
      name: 'lib-below-the-doors',
      severity: 'error',
      from: { path: '^lib/', pathNot: tests },
      to: { path: '^(app|bin|components|e2e|bench)/' },
    },
    {
      name: 'client-sees-contracts',
      severity: 'error',
      from: { path: '^lib/client/', pathNot: tests },
      to: {
        path: '^lib/',
        pathNot:
          '^lib/(client/|kernel/|config/env\\.ts$|domains/(.+[/-](contract|rules)|erasure/receipts/signing)\\.ts$)',
      },
    },
    {
      name: 'components-see-contracts',
      severity: 'error',
      from: { path: '^components/', pathNot: tests },
      to: {
        path: '^(lib|generated)/',
        pathNot: ['^lib/(client|kernel)/', '^lib/domains/.+[/-](contract|rules)\\.ts$'],
      },
    },
    {
      name: 'browsers-get-types-of-contracts',
      severity: 'error',
      comment:
        'a value of a contract brings every schema and Zod with it, twice what a page otherwise loads; rules.ts is free of them',
      from: { path: '^components/', pathNot: tests },
      to: { path: '^lib/domains/.+[/-]?contract\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-lib-touches-the-database',
      severity: 'error',
      from: { path: '^(app|components|e2e)/' },
      to: { path: '(^generated/|node_modules/(pg|@prisma)/)' },
    },
    {
      name: 'tests-stay-tests',
      severity: 'error',
      from: { path: '^(lib|bin|app|components)/', pathNot: tests },
      to: { path: '^lib/testing/' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(\\.next|bench/results)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
    },
  },
}
