import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.accounts.factorRequirement)
export const PUT = route(app.accounts.changeFactorRequirement)
