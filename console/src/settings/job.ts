/** Follow a job of a client until its end, in a message. */
import { getOf } from '../clients/requests';
import { changeToast, dismiss, toast, toastProblem } from '../ui/toast';
import type { Job } from './types';

const EVERY = 400;
const OVER = ['succeeded', 'failed', 'cancelled'];

/** A rename looks at all records once more ten seconds after it, so what is wanted may be there before its end. */
export async function follow(client: string, job: Job, what: string, onStep: () => void): Promise<void> {
  const id = toast(`${what}…`, { stays: true });
  try {
    let now = job;
    while (!OVER.includes(now.state)) {
      await new Promise((resolve) => setTimeout(resolve, EVERY));
      now = await getOf<Job>(client, `/public/v2/jobs/${job.id}`);
      changeToast(id, `${what}: ${now.progress.percent ?? 0} %`);
    }
    dismiss(id);
    if (now.state === 'succeeded') toast(`${what}: done.`);
    else toast(`${what}: ${now.error ?? now.state}.`, { bad: true });
  } catch (error) {
    dismiss(id);
    toastProblem(error);
  }
  onStep();
}
