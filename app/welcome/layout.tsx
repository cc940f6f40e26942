export { GuardedLayout as default } from '../guarded-layout.tsx'
