// The pages of the studio, in the order of the navigation; each is a chunk of its own, loaded when it is first opened.
import { Compass, FileCode2, FileUp, GitCommitVertical, GitMerge, LayoutDashboard, Radio, SquareTerminal, type LucideIcon } from 'lucide-react';
import { lazy, type ComponentType, type LazyExoticComponent } from 'react';
import type { Action } from '../lib/graph';

export interface PageEntry {
  name: string; // of its folder, and in the address
  title: string;
  key: string; // pressed after "g"
  icon: LucideIcon;
  needs?: Action; // without this right on the branch the page is not offered
  Component: LazyExoticComponent<ComponentType>;
}

export const PAGES: PageEntry[] = [
  { name: 'overview', title: 'Overview', key: 'o', icon: LayoutDashboard, Component: lazy(() => import('./overview')) },
  { name: 'query', title: 'Query', key: 'q', icon: SquareTerminal, Component: lazy(() => import('./query')) },
  { name: 'explore', title: 'Explore', key: 'e', icon: Compass, Component: lazy(() => import('./explore')) },
  { name: 'history', title: 'History', key: 'h', icon: GitCommitVertical, Component: lazy(() => import('./history')) },
  { name: 'merge', title: 'Merge', key: 'm', icon: GitMerge, Component: lazy(() => import('./merge')) },
  { name: 'data', title: 'Data', key: 'd', icon: FileUp, needs: 'change', Component: lazy(() => import('./data')) },
  { name: 'schema', title: 'Schema', key: 's', icon: FileCode2, Component: lazy(() => import('./schema')) },
  { name: 'live', title: 'Live', key: 'l', icon: Radio, Component: lazy(() => import('./live')) },
];
