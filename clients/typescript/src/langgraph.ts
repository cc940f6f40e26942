export * from './recorder.ts'
